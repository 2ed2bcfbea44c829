// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// A member at its place. The names are ASCII.
ZARRPOINT_INLINE v0::detail::zip_member member_of(std::string name, std::uint64_t at,
                                                  std::uint64_t size, std::uint32_t crc) {
  v0::detail::zip_member out;
  out.name = std::move(name);
  out.crc32 = crc;
  out.size = out.stored_size = size;
  out.header_offset = at;
  return out;
}

inline constexpr std::string_view elements_name = "archive/data/0";

ZARRPOINT_INLINE std::uint64_t archive_layout::alignment() const noexcept {
  return element_bytes_ >= paged_bytes ? page : least_alignment;
}

ZARRPOINT_INLINE archive_layout::archive_layout(std::string pickle, bool has_tensor,
                                                std::uint64_t element_bytes)
    : has_tensor_(has_tensor), element_bytes_(element_bytes) {
  small_.push_back({"archive/data.pkl", std::move(pickle)});
  small_.push_back({"archive/byteorder", native_endian == endian::little ? "little" : "big"});
  small_.push_back({"archive/version", "3\n"});
  std::uint64_t at = 0;
  for (const member& one : small_)
    at += v0::detail::zip_local_size + one.name.size() + v0::detail::zip_least_extra +
          one.bytes.size();
  if (has_tensor_) {
    at += v0::detail::zip_local_size + elements_name.size() + v0::detail::zip_least_extra;
    at = (at + alignment() - 1) / alignment() * alignment();
  }
  elements_ = at;
  tail_ = at + element_bytes;
  tail_size_ = tail(0).size();
}

ZARRPOINT_INLINE std::string archive_layout::head(std::uint32_t crc) const {
  std::string out;
  for (const member& one : small_) {
    const std::size_t room =
        v0::detail::zip_local_size + one.name.size() + v0::detail::zip_least_extra;
    out += v0::detail::zip_local_header(
        member_of(one.name, out.size(), one.bytes.size(),
                  v0::detail::crc32(0, as_bytes(std::string_view(one.bytes)))),
        room);
    out += one.bytes;
  }
  if (!has_tensor_) return out;
  const std::size_t room = static_cast<std::size_t>(elements_) - out.size();
  out += v0::detail::zip_local_header(
      member_of(std::string(elements_name), out.size(), element_bytes_, crc), room);
  return out;
}

ZARRPOINT_INLINE std::string archive_layout::tail(std::uint32_t crc) const {
  if (small_.empty()) return {};
  std::string out;
  std::uint64_t at = 0;
  for (const member& one : small_) {
    v0::detail::append_zip_entry(
        out, member_of(one.name, at, one.bytes.size(),
                       v0::detail::crc32(0, as_bytes(std::string_view(one.bytes)))));
    at += v0::detail::zip_local_size + one.name.size() + v0::detail::zip_least_extra +
          one.bytes.size();
  }
  if (has_tensor_)
    v0::detail::append_zip_entry(out,
                                 member_of(std::string(elements_name), at, element_bytes_, crc));
  const std::uint64_t entries = small_.size() + (has_tensor_ ? 1 : 0);
  const std::uint64_t size = out.size();
  v0::detail::append_zip_end(out, {entries, size, tail_});
  return out;
}

ZARRPOINT_INLINE result<archive_layout> archive_layout::of_tensor(const tensor_spec& spec) {
  ZARRPOINT_TRY(bytes, byte_count(spec));
  ZARRPOINT_TRY(pickle, torch::detail::pickle_value_of(torch::value(
                            dense_view(static_cast<const std::byte*>(nullptr), spec))));
  return archive_layout(std::move(pickle.bytes), true, bytes);
}

ZARRPOINT_INLINE result<archive_layout> archive_layout::of_value(const torch::value& value) {
  ZARRPOINT_TRY(pickle, torch::detail::pickle_value_of(value));
  if (!pickle.storages.empty()) return error{errc::invalid_argument, "a tensor within a value"};
  return archive_layout(std::move(pickle.bytes), false, 0);
}

ZARRPOINT_INLINE archive_layout archive_layout::of_file(std::uint64_t bytes) {
  archive_layout out;
  out.element_bytes_ = out.tail_ = bytes;
  return out;
}

}}}}  // namespace zarrpoint::v0::dcp::detail
