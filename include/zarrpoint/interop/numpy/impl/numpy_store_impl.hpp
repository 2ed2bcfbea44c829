// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/numpy/npy_header.hpp>
#include <zarrpoint/interop/numpy/numpy_store.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/zip/zip_directory.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace numpy {

namespace detail {

using v0::detail::container_file;
using v0::detail::virtual_hierarchy;
using v0::detail::zip_archive;
using v0::detail::zip_member;

/// Errors: `unsupported` for strings of no characters, which no data type of Zarr has.
ZARRPOINT_INLINE result<array_metadata> stored_as(const npy_header& of) {
  tensor_spec spec = of.spec;
  if (spec.type.is_variable()) {
    if (of.text_length == 0)
      return error{errc::unsupported, "npy: strings of no characters (U0) are not supported"};
    spec.type = dtype::utf32(of.text_length);
  }
  array_metadata out = v0::detail::raw_array(spec, of.order);
  if (!of.fortran_order || spec.shape.rank() < 2) return out;
  node::array axes;
  for (std::size_t d = spec.shape.rank(); d-- > 0;) axes.emplace_back(std::uint64_t{d});
  node order;
  order.set("order", std::move(axes));
  out.codecs.insert(out.codecs.begin(), codec_spec("transpose", std::move(order)));
  return out;
}

/// Errors: `corrupt` where the file has another number of bytes behind the header.
ZARRPOINT_INLINE result<void> check_size(const npy_header& of, std::uint64_t size) {
  ZARRPOINT_TRY(bytes, of.data_bytes());
  const std::uint64_t there = size - std::min<std::uint64_t>(of.data_offset, size);
  if (there == bytes) return {};
  return error{errc::corrupt, "npy: " + std::to_string(there) + " bytes of elements where " +
                                  to_string(of.spec) + " takes " + std::to_string(bytes)};
}

/// The header of an array that begins at `offset`.
ZARRPOINT_INLINE result<npy_header> read_npy_header(const blob& from, std::uint64_t offset) {
  const std::uint64_t there = from.size() - offset;
  std::byte first[12]{};
  const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(there, sizeof first));
  ZARRPOINT_CHECK(from.read(offset, mutable_bytes(first, known)));
  // The length of the text has two bytes in version 1, and four in those after it.
  const std::uint64_t length =
      load_le<std::uint32_t>(first + 8) & (first[6] > std::byte{1} ? UINT32_MAX : 0xffffU);
  const std::uint64_t wanted = std::min<std::uint64_t>(sizeof first + length, npy_header_limit);
  ZARRPOINT_TRY(text, buffer::allocate(static_cast<std::size_t>(std::min(there, wanted))));
  ZARRPOINT_CHECK(from.read(offset, text.bytes()));
  return parse_npy(std::as_const(text).bytes());
}

ZARRPOINT_INLINE result<void> add_npy(virtual_hierarchy& to, std::unique_ptr<blob> from,
                                      std::size_t most) {
  const auto file = v0::detail::make_counted<const container_file>(std::move(from));
  const blob& whole = file->file();
  struct found {
    array_metadata as;
    std::uint64_t begin;
    std::uint64_t size;
  };
  std::vector<found> arrays;
  const auto add = [&](std::uint64_t at) -> result<std::uint64_t> {
    ZARRPOINT_TRY(header, read_npy_header(whole, at));
    ZARRPOINT_TRY(bytes, header.data_bytes());
    ZARRPOINT_TRY(size, checked_add<std::uint64_t>(header.data_offset, bytes));
    std::byte mark[6];
    const std::uint64_t rest = whole.size() - at;
    if (size < rest && rest - size >= sizeof mark) {
      ZARRPOINT_CHECK(whole.read(at + size, mark));
    }
    const bool is_last = size >= rest || rest - size < sizeof mark || !begins_npy(mark);
    ZARRPOINT_CHECK(check_size(header, is_last ? rest : size));
    ZARRPOINT_TRY(as, stored_as(header));
    arrays.push_back({std::move(as), at + header.data_offset, bytes});
    return at + size;
  };
  for (std::uint64_t at = 0; at < whole.size() || arrays.empty();) {
    if (arrays.size() == most)
      return error{errc::resource_limit, "more than " + std::to_string(most) +
                                             " arrays one after another; raise limits::memory"};
    auto next = add(at);
    if (!next && arrays.empty()) return std::move(next).failure();
    ZARRPOINT_TRY(end, std::move(next).at("array " + std::to_string(arrays.size())));
    at = end;
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto chunk = [file, begin = arrays[i].begin,
                        size = arrays[i].size](std::string name) -> result<std::unique_ptr<blob>> {
      return v0::detail::make_owned<blob, v0::detail::range_blob>(file, begin, size,
                                                                  std::move(name));
    };
    ZARRPOINT_CHECK(to.add(arrays.size() == 1 ? "value" : std::to_string(i), arrays[i].as, chunk));
  }
  return {};
}

/// The elements of one member of an npz file. Its checksum is looked at before they are given for
/// the first time; one that is deflated tells by itself.
struct member_elements {
  std::shared_ptr<const zip_archive> archive;
  zip_member member;
  std::uint64_t begin = 0;
  std::atomic<bool> is_checked{false};

  result<void> check(const blob& of) {
    if (member.method != 0 || is_checked.load()) return {};
    ZARRPOINT_TRY(block, buffer::allocate(static_cast<std::size_t>(
                             std::min<std::uint64_t>(member.size, std::size_t{1} << 20))));
    std::uint32_t sum = 0;
    for (std::uint64_t at = 0; at < member.size;) {
      const auto some =
          static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), member.size - at));
      const mutable_bytes part(block.data(), some);
      ZARRPOINT_CHECK(of.read(at, part));
      sum = v0::detail::crc32(sum, part);
      at += some;
    }
    if (sum != member.crc32)
      return error{errc::corrupt, of.name() + ": its bytes do not match its crc32"};
    is_checked.store(true);
    return {};
  }
  result<std::unique_ptr<blob>> open(std::string name) {
    ZARRPOINT_TRY(whole, v0::detail::open_zip_member(archive, member));
    ZARRPOINT_CHECK(check(*whole));
    const auto file = v0::detail::make_counted<const container_file>(std::move(whole));
    return v0::detail::make_owned<blob, v0::detail::range_blob>(file, begin, member.size - begin,
                                                                std::move(name));
  }
};

ZARRPOINT_INLINE result<void> add_member(virtual_hierarchy& to,
                                         const std::shared_ptr<const zip_archive>& archive,
                                         zip_member member) {
  const bool is_npy = member.name.ends_with(".npy");
  const std::string name = member.name.substr(0, member.name.size() - (is_npy ? 4 : 0));
  const auto elements = v0::detail::make_counted<member_elements>();
  elements->archive = archive;
  elements->member = std::move(member);
  const auto describe = [&]() -> result<array_metadata> {
    if (!is_npy) return error{errc::unsupported, "not an npy file"};
    ZARRPOINT_TRY(opened, v0::detail::open_zip_member(archive, elements->member));
    ZARRPOINT_TRY(header, read_npy_header(*opened, 0));
    ZARRPOINT_CHECK(check_size(header, opened->size()));
    elements->begin = header.data_offset;
    return stored_as(header);
  };
  auto as = describe();
  if (as)
    return to.add(name, *as,
                  [elements](std::string called) { return elements->open(std::move(called)); });
  if (as.failure().code == errc::resource_limit) return std::move(as).failure();
  return to.add(name, v0::detail::unread_entry{"npy", as.failure().message, {}}, {});
}

ZARRPOINT_INLINE result<void> add_npz(virtual_hierarchy& to, std::unique_ptr<blob> from,
                                      zip_decoder_factory inflate) {
  const auto archive = v0::detail::make_counted<const zip_archive>(std::move(from), inflate);
  ZARRPOINT_TRY(members, v0::detail::read_zip_directory(archive->file()));
  std::vector<std::string_view> names;
  names.reserve(members.size());
  bool any = members.empty();
  for (const zip_member& member : members) {
    any = any || member.name.ends_with(".npy");
    names.push_back(member.name);
  }
  if (!any) return error{errc::unsupported, "a zip file without npy files in it"};
  v0::detail::sort_names(names);
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return error{errc::corrupt, "zip: member " + v0::detail::in_quotes(*twice) + " is there twice"};
  for (zip_member& member : members) ZARRPOINT_CHECK(add_member(to, archive, std::move(member)));
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<array_store> array_store::open(any_store base, store_key at,
                                                       const store_options& how) {
  const std::string name = base.describe(at);
  ZARRPOINT_TRY(from, base.open(at));
  if (from == nullptr) return error{errc::not_found, "open " + name + ": there is no such file"};
  return open(std::move(from), how);
}

ZARRPOINT_INLINE result<array_store> array_store::open(std::unique_ptr<blob> file,
                                                       const store_options& how) {
  const std::string name = file->name();
  return guarded([&]() -> result<array_store> {
           v0::detail::virtual_hierarchy tree;
           std::byte mark[6]{};
           if (file->size() >= sizeof mark) ZARRPOINT_CHECK(file->read(0, mark));
           if (as_text(bytes_view(mark)).starts_with("PK"))
             ZARRPOINT_CHECK(detail::add_npz(tree, std::move(file), how.inflate));
           else
             ZARRPOINT_CHECK(detail::add_npy(tree, std::move(file), how.max_arrays));
           ZARRPOINT_CHECK(tree.finish({}));
           return array_store(std::move(tree), name);
         })
      .at("open " + name);
}

namespace detail {

ZARRPOINT_INLINE result<claim> sniff(const place_look& at) {
  if (!at.is_file()) return claim::none;
  if (begins_npy(as_bytes(at.head())) || at.place().ends_with(".npy")) return claim::plain;
  const bool is_npz = at.head().starts_with("PK") && at.place().ends_with(".npz");
  return is_npz ? claim::plain : claim::none;
}

ZARRPOINT_INLINE result<stored_place> open(const place_look& at, const place_use& use,
                                           zip_decoder_factory inflate) {
  ZARRPOINT_TRY(file, at.open_file());
  store_options how{.inflate = inflate};
  how.max_arrays =
      static_cast<std::size_t>(std::min<std::uint64_t>(how.max_arrays, use.memory / 2048 + 16));
  const bool is_zip = at.head().starts_with("PK");
  ZARRPOINT_TRY(opened, array_store::open(std::move(file), how));
  return at.within(std::move(opened), is_zip ? "npz" : "npy");
}

}  // namespace detail

}}}  // namespace zarrpoint::v0::numpy
