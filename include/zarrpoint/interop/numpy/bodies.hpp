// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/numpy/npy_header.hpp>
#include <zarrpoint/interop/numpy/numpy_store.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace numpy {

// ---------------------------------------------------------------------------------- npy_header.hpp

namespace detail {

inline constexpr std::string_view magic("\x93NUMPY", 6);

ZARRPOINT_INLINE error broken(std::string_view what) {
  return {errc::corrupt, "npy header: " + std::string(what)};
}

ZARRPOINT_INLINE error unsupported_descr(std::string_view descr) {
  return {errc::unsupported, "npy: descr " + v0::detail::in_quotes(descr) +
                                 " is not supported (bool, integers, float16 to 64, complex, "
                                 "times, strings U and S, and bytes V are)"};
}

/// Reads the literal of a Python dictionary, of which numpy writes one form only.
class literal {
 public:
  explicit literal(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_blanks();
    return text_.empty();
  }
  std::optional<std::string_view> string() {
    skip_blanks();
    if (text_.starts_with("u'") || text_.starts_with("u\"")) text_.remove_prefix(1);  // of Python 2
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == text_.npos) return std::nullopt;
    const std::string_view out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out;
  }
  std::optional<bool> boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    return std::nullopt;
  }
  std::optional<index_t> length() {
    skip_blanks();
    index_t value = -1;
    const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (status != std::errc() || value < 0) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (text_.starts_with('L')) text_.remove_prefix(1);  // of Python 2
    return value;
  }
  std::string_view rest() const { return text_; }

 private:
  void skip_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

ZARRPOINT_INLINE result<dims> parse_shape(literal& from) {
  if (!from.take('(')) return broken("\"shape\" is not a tuple");
  dims shape;
  while (!from.take(')')) {
    const auto extent = from.length();
    if (!extent) return broken("\"shape\" holds something other than lengths");
    if (shape.rank() == max_rank)
      return error{errc::unsupported, "npy: more than " + std::to_string(max_rank) + " dimensions"};
    shape.push_back(*extent);
    if (!from.take(',') && !from.rest().starts_with(')')) return broken("\"shape\" is malformed");
  }
  return shape;
}

ZARRPOINT_INLINE dtype numeric_dtype(char kind, std::size_t size) {
  using enum dtype_kind;
  struct entry {
    char kind;
    std::size_t size;
    dtype_kind type;
  };
  constexpr entry known[] = {{'b', 1, bool_},     {'i', 1, int8},       {'i', 2, int16},
                             {'i', 4, int32},     {'i', 8, int64},      {'u', 1, uint8},
                             {'u', 2, uint16},    {'u', 4, uint32},     {'u', 8, uint64},
                             {'f', 2, float16},   {'f', 4, float32},    {'f', 8, float64},
                             {'c', 8, complex64}, {'c', 16, complex128}};
  for (const entry& one : known) {
    if (one.kind == kind && one.size == size) return one.type;
  }
  return {};
}

ZARRPOINT_INLINE result<void> parse_descr(std::string_view descr, npy_header& out) {
  if (descr.size() < 3) return unsupported_descr(descr);
  if (descr[1] == 'V' || descr[1] == 'M' || descr[1] == 'm') {  // as Zarr v2 has them
    const std::string order = descr[0] == '=' ? "<" : std::string(descr.substr(0, 1));
    const auto read = v0::detail::parse_v2_dtype(json(order + std::string(descr.substr(1))));
    if (!read || read->type.size() == 0) return unsupported_descr(descr);
    out.spec.type = read->type;
    out.order = read->type.scalar_size() > 1 ? read->order : endian::little;
    return {};
  }
  std::size_t size = 0;
  const auto [end, status] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), size);
  if (status != std::errc() || end != descr.data() + descr.size()) return unsupported_descr(descr);
  if (std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    return unsupported_descr(descr);
  if (descr[1] == 'U') {
    if (size > (std::size_t{1} << 28)) return unsupported_descr(descr);
    out.spec.type = dtype_kind::string;
    out.text_length = size;
  } else if (descr[1] == 'S' && size != 0 && size <= (std::size_t{1} << 30)) {
    out.spec.type = dtype::null_terminated(size);
  } else {
    out.spec.type = numeric_dtype(descr[1], size);
    if (!out.spec.type.valid()) return unsupported_descr(descr);
  }
  const bool is_wide = out.text_length != 0 || out.spec.type.scalar_size() > 1;
  out.order = descr[0] == '>' && is_wide ? endian::big : endian::little;
  return {};
}

ZARRPOINT_INLINE result<void> parse_dictionary(literal from, npy_header& out) {
  if (!from.take('{')) return broken("it is not a dictionary");
  unsigned seen = 0;
  while (!from.take('}')) {
    const auto key = from.string();
    if (!key || !from.take(':')) return broken("it is not a dictionary");
    if (*key == "descr") {
      seen |= 1U;
      const auto descr = from.string();
      if (!descr)  // a list of fields: a structure
        return error{errc::unsupported, "npy: structured elements are not supported"};
      ZARRPOINT_CHECK(parse_descr(*descr, out));
    } else if (*key == "fortran_order") {
      seen |= 2U;
      const auto value = from.boolean();
      if (!value) return broken("\"fortran_order\" is not a bool");
      out.fortran_order = *value;
    } else if (*key == "shape") {
      seen |= 4U;
      ZARRPOINT_TRY(shape, parse_shape(from));
      out.spec.shape = shape;
    } else {
      return broken("unknown member " + v0::detail::in_quotes(*key));
    }
    if (!from.take(',') && !from.rest().starts_with('}'))
      return broken("the dictionary is malformed");
  }
  if (seen != 7U) return broken("descr, fortran_order or shape is missing");
  if (!from.at_end()) return broken("text after the dictionary");
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE bool begins_npy(bytes_view file) {
  return as_text(file).starts_with(detail::magic);
}

ZARRPOINT_INLINE result<npy_header> parse_npy(bytes_view file) {
  const std::string_view text = as_text(file);
  if (!begins_npy(file)) return detail::broken("it does not begin with \\x93NUMPY");
  if (text.size() < 10) return detail::broken("it is cut short");
  const auto byte = [&](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(text[i])};
  };
  const std::uint32_t version = byte(6);
  if (version < 1 || version > 3)
    return error{errc::unsupported,
                 "npy format version " + std::to_string(version) + " is not known"};
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (text.size() < prefix) return detail::broken("it is cut short");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > npy_header_limit - prefix)
    return error{errc::resource_limit, "the npy header has " + std::to_string(length) +
                                           " bytes, more than " + std::to_string(npy_header_limit)};
  if (text.size() - prefix < length) return detail::broken("it is cut short");
  npy_header out;
  out.data_offset = prefix + length;
  ZARRPOINT_CHECK(detail::parse_dictionary(detail::literal(text.substr(prefix, length)), out));
  ZARRPOINT_CHECK(out.data_bytes());
  ZARRPOINT_CHECK(byte_count(out.spec.shape, memory_size(out.spec.type)));
  return out;
}

// --------------------------------------------------------------------------------- numpy_store.hpp

namespace detail {

using v0::detail::container_file;
using v0::detail::virtual_hierarchy;
using v0::detail::zip_archive;
using v0::detail::zip_member;

/// Strings of no characters (`U0`), for which no data type of Zarr has a length, are texts.
ZARRPOINT_INLINE array_metadata stored_as(const npy_header& of) {
  tensor_spec spec = of.spec;
  const bool is_text = spec.type.is_variable();
  if (is_text && of.text_length != 0) spec.type = dtype::utf32(of.text_length);
  array_metadata out = v0::detail::raw_array(spec, of.order);
  if (is_text && of.text_length == 0) out.codecs = {codec_spec("vlen-utf8")};
  if (!of.fortran_order || spec.shape.rank() < 2) return out;
  json::array axes;
  for (std::size_t d = spec.shape.rank(); d-- > 0;) axes.emplace_back(std::uint64_t{d});
  json order;
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
    arrays.push_back({stored_as(header), at + header.data_offset, bytes});
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
      if (size == 0) return std::unique_ptr<blob>();  // of texts, each of which is empty
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
    if (begin == member.size) return std::unique_ptr<blob>();  // of texts, each of which is empty
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
  const bool is_damage = as.failure().code == errc::corrupt;
  return to.add(name,
                v0::detail::unread_entry{
                    "npy", is_damage ? to_string(as.failure()) : as.failure().message, {}},
                {});
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
  ZARRPOINT_TRY(from, v0::detail::open_existing(base, at));
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

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#include <zarrpoint/zarr/v2/bodies.hpp>
#endif
