// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of torch.distributed.checkpoint in memory, sound and broken ones.

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// A box of a tensor, and its item as the metadata tell it.
struct dcp_box {
  zarrpoint::dims offset;
  zarrpoint::dims sizes;
  std::string file = "__0_0.distcp";
  std::uint64_t at = 0;
  std::uint64_t length = 0;
  std::vector<std::string> transforms = {};
};

struct dcp_tensor {
  std::string name;
  zarrpoint::dims shape;
  std::vector<dcp_box> boxes;
  std::string dtype = "float32";
  std::string kind = "TensorStorageMetadata";
};

/// Its classes are called with their fields, as named tuples are; those of PyTorch get a state.
class dcp_pickle {
 public:
  std::string metadata(const std::vector<dcp_tensor>& tensors) {
    call("Metadata", 3, [&](std::size_t field) {
      if (field == 0) {
        to_.dict(tensors.size(), [&](std::size_t i) { return entry(tensors[i]); }).value();
      } else if (field == 1) {
        to_.none();
      } else {
        items(tensors);
      }
    });
    return std::move(to_).finish();
  }

 private:
  using done = zarrpoint::result<void>;

  static bool is_value(const dcp_tensor& of) { return of.kind == "BytesStorageMetadata"; }

  template <class F>
  void call(std::string_view name, std::size_t count, const F& each) {
    to_.global("torch.distributed.checkpoint.metadata", name);
    to_.tuple(count, [&](std::size_t i) { return each(i), done(); }).value();
    to_.reduce();
  }
  void size(const zarrpoint::dims& of) {
    to_.global("torch", "Size");
    to_.tuple(1,
              [&](std::size_t) {
                return to_.tuple(of.rank(),
                                 [&](std::size_t d) { return to_.integer(of[d]), done(); });
              })
        .value();
    to_.reduce();
  }
  done entry(const dcp_tensor& of) {
    to_.string(of.name).value();
    call(of.kind, 3, [&](std::size_t field) {
      if (field == 0) {
        call("TensorProperties", 1, [&](std::size_t) { to_.global("torch", of.dtype); });
      } else if (field == 1) {
        size(of.shape);
      } else {
        to_.list(of.boxes.size(),
                 [&](std::size_t i) {
                   call("ChunkStorageMetadata", 2, [&](std::size_t part) {
                     size(part == 0 ? of.boxes[i].offset : of.boxes[i].sizes);
                   });
                   return done();
                 })
            .value();
      }
    });
    return {};
  }
  void items(const std::vector<dcp_tensor>& tensors) {
    std::vector<std::pair<const dcp_tensor*, const dcp_box*>> all;
    for (const dcp_tensor& tensor : tensors)
      for (const dcp_box& box : tensor.boxes)
        if (!box.file.empty()) all.emplace_back(&tensor, &box);
    to_.dict(all.size(),
             [&](std::size_t i) {
               const dcp_box& box = *all[i].second;
               call("MetadataIndex", 2, [&](std::size_t field) {
                 if (field == 0) to_.string(all[i].first->name).value();
                 if (field == 1 && is_value(*all[i].first)) to_.none();
                 if (field == 1 && !is_value(*all[i].first)) size(box.offset);
               });
               call("_StorageInfo", 4, [&](std::size_t field) {
                 if (field == 0) to_.string(box.file).value();
                 if (field == 1) to_.unsigned_integer(box.at);
                 if (field == 2) to_.unsigned_integer(box.length);
                 if (field == 3)
                   to_.list(box.transforms.size(),
                            [&](std::size_t t) { return to_.string(box.transforms[t]); })
                       .value();
               });
               return done();
             })
        .value();
  }

  zarrpoint::torch::pickle_writer to_;
};

inline std::string dcp_metadata(const std::vector<dcp_tensor>& tensors) {
  return dcp_pickle().metadata(tensors);
}

/// The bytes of an object.
inline std::string dcp_bytes(const zarrpoint::any_store& store, std::string_view name) {
  const auto found = zarrpoint::get(store, zarrpoint::store_key::parse(name).value(), 1 << 30);
  return std::string(zarrpoint::as_text(found.value().value()));
}

/// The elements of a box of a float32 tensor whose elements are their places in it, as torch.save
/// writes them.
inline std::string dcp_item(const zarrpoint::dims& shape, const zarrpoint::box& part) {
  using namespace zarrpoint;
  tensor made = tensor::make({dtype(dtype_kind::float32), part.shape}).value();
  index_t at = 0;
  for (float& out : made.data<float>()) {
    index_t rest = at++;
    index_t place = 0;
    index_t step = 1;
    for (std::size_t d = shape.rank(); d-- > 0;) {
      place += (part.offset[d] + rest % part.shape[d]) * step;
      rest /= part.shape[d];
      step *= shape[d];
    }
    out = static_cast<float>(place);
  }
  const memory_store store;
  const auto key = store_key::parse("item").value();
  torch::save(store, key, torch::value(as_const(made.mutable_view()))).value();
  return dcp_bytes(store, "item");
}

/// Saves tensors of float32 whose elements are their places, all boxes to one file.
inline zarrpoint::memory_store dcp_checkpoint(std::vector<dcp_tensor> tensors) {
  using namespace zarrpoint;
  memory_store out;
  std::string file;
  for (dcp_tensor& tensor : tensors)
    for (dcp_box& box : tensor.boxes) {
      const std::string item = dcp_item(tensor.shape, {box.offset, box.sizes});
      box.at = file.size();
      box.length = item.size();
      file += item;
    }
  out.put(store_key::parse(".metadata").value(), as_bytes(dcp_metadata(tensors))).value();
  out.put(store_key::parse("__0_0.distcp").value(), as_bytes(file)).value();
  return out;
}

}  // namespace test
