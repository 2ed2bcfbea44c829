// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// torch_copy FROM TO: reads a file of torch.save and writes it again. For py/torch_check.py, which
// compares the two with PyTorch.
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/torch.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace zp = zarrpoint;
namespace pt = zarrpoint::torch;

namespace {

class copier {
 public:
  explicit copier(const pt::file& from) : from_(from) {}

  zp::result<pt::value> copy(const pt::pickle_value& value) {
    if (pt::is_tensor(value)) {
      ZARRPOINT_TRY(info, from_.tensor(value));
      ZARRPOINT_TRY(view, from_.view(info));
      memory_.push_back(view.memory);
      return pt::value(view.elements);
    }
    if (auto bytes = pt::to_bytes(value)) return pt::value(*std::move(bytes));
    if (value.kind() == pt::pickle_kind::list || value.kind() == pt::pickle_kind::tuple) {
      pt::value::list out;
      for (std::size_t i = 0; i < value.element_count(); ++i) {
        ZARRPOINT_TRY(one, copy(value.element(i)));
        out.push_back(std::move(one));
      }
      return pt::value(std::move(out));
    }
    if (value.kind() == pt::pickle_kind::dict) {
      pt::value::dict out;
      for (std::size_t i = 0; i < value.member_count(); ++i) {
        const std::string* key = value.key(i).if_string();
        if (key == nullptr) return zp::error{zp::errc::unsupported, "a key that is not text"};
        ZARRPOINT_TRY(one, copy(value.member(i)));
        out.push_back({*key, std::move(one)});
      }
      return pt::value(std::move(out));
    }
    ZARRPOINT_TRY(plain, pt::to_json(value));
    return pt::value(std::move(plain));
  }

 private:
  const pt::file& from_;
  std::vector<zp::mapping> memory_;
};

zp::result<void> copy(const std::string& from, const std::string& to) {
  ZARRPOINT_TRY(source, zp::detail::open_file(from));
  ZARRPOINT_TRY(file, pt::open(std::move(source)));
  copier made(file);
  ZARRPOINT_TRY(value, made.copy(file.root()));
  ZARRPOINT_TRY(target, zp::detail::parent_place(to, {}));
  return pt::save(target.store, target.key, value);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: torch_copy FROM TO\n");
    return 2;
  }
  if (const zp::result<void> done = copy(argv[1], argv[2]); !done) {
    std::fprintf(stderr, "%s\n", zp::to_string(done.failure()).c_str());
    return 1;
  }
  return 0;
}
