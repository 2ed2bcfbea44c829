// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/store/base/range_blob.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch {

namespace detail {

/// The number that such a file begins with: 0x1950a86a20f9469cfc6c.
inline constexpr std::string_view legacy_magic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

/// The storages of such a file, one behind the other.
class legacy_storages final : public storage_files {
 public:
  struct range {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };

  legacy_storages(std::shared_ptr<const v0::detail::container_file> file,
                  std::map<std::string, range> ranges)
      : file_(std::move(file)), ranges_(std::move(ranges)) {}

  result<std::unique_ptr<blob>> open(const std::string& name) const override {
    const auto at = ranges_.find(name);
    if (at == ranges_.end()) return std::unique_ptr<blob>();
    return v0::detail::make_owned<blob, v0::detail::range_blob>(file_, at->second.begin,
                                                                at->second.size, describe(name));
  }
  std::string describe(const std::string& name) const override {
    return name.empty() ? file_->file().name() : file_->file().name() + ':' + name;
  }

 private:
  std::shared_ptr<const v0::detail::container_file> file_;
  std::map<std::string, range> ranges_;  // not hashed: the file chooses the names
};

}  // namespace detail

ZARRPOINT_INLINE bool is_legacy_file(bytes_view first_bytes) {
  // Behind the protocol, and from protocol 4 on behind the size of a frame, it is a long of 10.
  const std::string_view text = as_text(first_bytes).substr(0, 32);
  const std::size_t at = text.find(std::string("\x8a\x0a").append(detail::legacy_magic));
  return text.starts_with('\x80') && (at == 2 || at == 11);
}

namespace detail {

class legacy_reader {
 public:
  legacy_reader(std::unique_ptr<blob> from, const pickle_limits& limits)
      : file_(v0::detail::make_counted<const v0::detail::container_file>(std::move(from))),
        limits_(limits) {}

  result<legacy_content> read() {
    ZARRPOINT_CHECK(check_kind());
    ZARRPOINT_CHECK(next().at("its magic number"));
    ZARRPOINT_TRY(version, next().at("its version"));
    constexpr std::int64_t known = 1001;
    if (version.to_int64() != known)
      return error{errc::unsupported,
                   "it is of another version of torch.save than 1001; save it again with "
                   "PyTorch 1.6 or later"};
    ZARRPOINT_CHECK(next().at("its facts of the machine"));
    ZARRPOINT_TRY(root, next());
    ZARRPOINT_TRY(names, next().at("the names of its storages"));
    ZARRPOINT_TRY(ranges, place(root, names));
    return legacy_content{
        std::move(root), v0::detail::make_counted<const legacy_storages>(file_, std::move(ranges))};
  }

 private:
  const blob& file() const { return file_->file(); }

  result<void> check_kind() const {
    std::array<std::byte, 512> head{};
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(file().size(), head.size()));
    ZARRPOINT_CHECK(file().read(0, mutable_bytes(head).first(size)));
    const std::string_view text = as_text(bytes_view(head).first(size));
    if (is_legacy_file(bytes_view(head).first(size))) return {};
    if (text.size() > 262 && text.substr(257, 5) == "ustar")
      return error{errc::unsupported,
                   "it is a tar archive, as torch.save wrote before PyTorch 0.2; load it there and "
                   "save it again"};
    if (text.starts_with('\x80') && text.size() > 1 && text[1] >= 2 && text[1] <= 5)
      return error{errc::unsupported,
                   "it is a pickle of Python that torch.save did not write; load it there and save "
                   "its arrays with numpy or PyTorch"};
    return error{errc::corrupt, "it is not a file of torch.save"};
  }

  /// The next pickle. Nobody knows its size: more is read until it ends.
  result<pickle_value> next() {
    constexpr std::uint64_t first_step = std::uint64_t{64} << 10;
    const std::uint64_t rest = file().size() - at_;
    for (std::uint64_t step = first_step;; step *= 4) {
      const std::uint64_t size = std::min({step, rest, limits_.max_bytes});
      if (bytes_at_ != at_ || bytes_.size() < size) {
        bytes_.resize(static_cast<std::size_t>(size));
        ZARRPOINT_CHECK(file().read(at_, bytes_));
        bytes_at_ = at_;
      }
      ZARRPOINT_TRY(found, read_first_pickle(bytes_, limits_));
      if (found) {
        at_ += found->size;
        bytes_ = {};
        return std::move(found->value);
      }
      if (size == rest) return error{errc::corrupt, "the file ends within a pickle"};
      if (size == limits_.max_bytes)
        return error{errc::resource_limit,
                     "its pickle has more than the limit of " + std::to_string(size) + " bytes"};
    }
  }

  /// Where the storages lie, in the order of their names.
  result<std::map<std::string, legacy_storages::range>> place(const pickle_value& root,
                                                              const pickle_value& names) {
    struct facts {
      std::uint64_t count = 0;
      std::uint64_t size = 0;
    };
    std::map<std::string, facts> known;
    for (std::size_t i = 0; i < root.total(); ++i) {
      const auto id = storage_id_of(root.at(i));
      if (!id) continue;
      const auto size = storage_element_size(id->type);
      if (!size)
        return error{errc::unsupported, "it has a storage of type " +
                                            v0::detail::in_quotes(global_name(id->type)) +
                                            ", whose elements have an unknown size"};
      const auto [at, is_new] = known.try_emplace(id->name, facts{id->count, *size});
      if (!is_new && (at->second.count != id->count || at->second.size != *size))
        return error{errc::corrupt,
                     "the storage " + v0::detail::in_quotes(id->name) + " has two sizes"};
    }
    std::map<std::string, legacy_storages::range> out;
    for (std::size_t i = 0; i < names.element_count(); ++i) {
      const std::string* const name = names.element(i).if_string();
      const auto found = name == nullptr ? known.end() : known.find(*name);
      if (found == known.end())
        return error{errc::corrupt, "it names a storage that no tensor has"};
      const std::string called = "the storage " + v0::detail::in_quotes(*name);
      std::array<std::byte, 8> count{};
      const error short_file{errc::corrupt, called + ": the file ends before it does"};
      if (file().size() - at_ < count.size()) return short_file;
      ZARRPOINT_CHECK(file().read(at_, count));
      at_ += count.size();
      if (load_le<std::uint64_t>(count.data()) != found->second.count)
        return error{errc::corrupt, called + ": it has another size than its tensor says"};
      ZARRPOINT_TRY(bytes,
                    checked_mul<std::uint64_t>(found->second.count, found->second.size).at(called));
      if (bytes > file().size() - at_) return short_file;
      if (!out.try_emplace(*name, legacy_storages::range{at_, bytes}).second)
        return error{errc::corrupt, called + ": it is there twice"};
      at_ += bytes;
    }
    if (at_ != file().size())
      return error{errc::corrupt,
                   std::to_string(file().size() - at_) + " bytes follow its last storage"};
    return out;
  }

  std::shared_ptr<const v0::detail::container_file> file_;
  pickle_limits limits_;
  std::uint64_t at_ = 0;  ///< what is read next
  std::vector<std::byte> bytes_;
  std::uint64_t bytes_at_ = 0;
};

ZARRPOINT_INLINE result<legacy_content> read_legacy(std::unique_ptr<blob> from,
                                                    const pickle_limits& limits) {
  return guarded([&] { return legacy_reader(std::move(from), limits).read(); });
}

}  // namespace detail
}}}  // namespace zarrpoint::v0::torch
