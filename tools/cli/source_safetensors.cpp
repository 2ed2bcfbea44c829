// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A safetensors file.

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include "files.hpp"
#include "looks.hpp"
#include "raw_elements.hpp"
#include "row_blocks.hpp"
#include "source.hpp"
#include "text.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

/// One file of tensors, its header checked.
struct shard {
  std::string path;
  zp::safetensors::file file;
  zp::mapping bytes;
  std::uint64_t data_offset = 0;
};

zp::result<shard> open_shard(const std::string& path) {
  ZARRPOINT_TRY(file, open_file(path));
  ZARRPOINT_TRY(mapped, bytes_of(file));
  if (auto found = stand_in(path, zp::as_text(mapped.bytes()))) return *std::move(found);
  ZARRPOINT_TRY(checked, zp::safetensors::open(path));
  shard out{path, std::move(checked), std::move(mapped), 0};
  // Between the two openings the file may have been replaced.
  std::uint64_t end = 0;
  for (const auto& tensor : out.file.tensors()) end = std::max(end, tensor.offset + tensor.bytes);
  const std::uint64_t size = out.bytes.bytes().size();
  const std::uint64_t length = size < 8 ? 0 : zp::load_le<std::uint64_t>(out.bytes.bytes().data());
  if (size < 8 || length > size - 8 || size - 8 - length != end)
    return zp::error{zp::errc::io, path + ": the file was changed while it was opened"};
  out.data_offset = 8 + length;
  return out;
}

class safetensors_source final : public source {
 public:
  explicit safetensors_source(shard file) : file_(std::move(file)) {
    format_ = "safetensors";
    for (const auto& [key, value] : file_.file.metadata()) attributes_.set(key, value);
    for (const auto& info : file_.file.tensors()) tensors_.push_back(&info);
    std::sort(tensors_.begin(), tensors_.end(),
              [](const auto* a, const auto* b) { return a->name < b->name; });
    entries_.reserve(tensors_.size());
    for (const auto* const info : tensors_) add(*info);
  }

  zp::result<void> read(std::size_t index, const zp::selection& part,
                        const zp::mutable_host_view& into) const override {
    if (entries_[index].fault) return *entries_[index].fault;
    return elements_at(index).read(part, into).at(context(index));
  }
  zp::result<std::optional<zp::host_view>> lend(std::size_t index) const override {
    if (entries_[index].fault) return *entries_[index].fault;
    return elements_at(index).lend().at(context(index));
  }
  zp::result<std::uint64_t> stored_bytes(std::size_t index) const override {
    return tensors_[index]->bytes;
  }
  zp::node stored_form(std::size_t index) const override {
    const zp::safetensors::tensor_info& of = *tensors_[index];
    zp::node out;
    out.set("safetensors", of.spec.type.valid() ? std::string(to_string(of.spec))
                                                : of.stored_type + to_string(of.spec.shape));
    return out;
  }
  zp::result<std::vector<stored_key>> stored_objects(std::size_t index) const override {
    return std::vector<stored_key>{{"c/0", tensors_[index]->bytes}};
  }
  zp::result<std::unique_ptr<zp::blob>> open_stored(std::size_t index,
                                                    const std::string& key) const override {
    if (key != "c/0") return std::unique_ptr<zp::blob>();
    zp::mapping part(bytes_at(index), std::make_shared<const zp::mapping>(file_.bytes));
    return std::unique_ptr<zp::blob>(
        std::make_unique<zp::detail::memory_blob>(std::move(part), context(index)));
  }
  void verify(verification& to) const override { verify_by_reading(*this, file_.path, to); }

 private:
  void add(const zp::safetensors::tensor_info& info) {
    entry made;
    made.name = info.name;
    made.chunk_shape = info.spec.shape;
    if (info.spec.type.valid()) {
      made.spec = info.spec;
      made.type = to_string(info.spec.type);
    } else {
      made.type = info.stored_type;
      made.told_shape = info.spec.shape;
      made.fault =
          zp::error{zp::errc::unsupported, "the dtype " + zp::detail::in_quotes(info.stored_type) +
                                               " is not known to this version"};
    }
    entries_.push_back(std::move(made));
  }
  std::string context(std::size_t index) const {
    return file_.path + ": tensor \"" + escaped(entries_[index].name) + '"';
  }
  zp::bytes_view bytes_at(std::size_t index) const {
    return file_.bytes.bytes().subspan(
        static_cast<std::size_t>(file_.data_offset + tensors_[index]->offset),
        static_cast<std::size_t>(tensors_[index]->bytes));
  }
  raw_elements elements_at(std::size_t index) const {
    raw_elements out;
    out.data = bytes_at(index);
    out.spec = tensors_[index]->spec;
    out.packed = out.spec.type.is_below_byte();
    out.strides = zp::row_major_strides(out.spec.shape, out.spec.type.size());
    return out;
  }

  shard file_;
  std::vector<const zp::safetensors::tensor_info*> tensors_;  ///< of the entries
};

}  // namespace

zp::result<source_pointer> open_safetensors(const std::string& path) {
  ZARRPOINT_TRY(opened, open_shard(path));
  return source_pointer(std::make_unique<safetensors_source>(std::move(opened)));
}

}  // namespace cli
