// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A skeleton to copy: a format of your own. `sniff` and `open` are enough to read it: a table such
// as `zarrpoint::all_formats<my::format>()` has it, and so has the scheme `my-format://`. `save_as`
// makes it one of `save_options::format`.

#include <zarrpoint/formats.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace my {

namespace zp = zarrpoint;

/// A file that begins with "my-format", and then has the bytes of one leaf, `value`.
struct format {
  static constexpr std::string_view name = "my-format";

  // Decides by one look, which all formats share: the first bytes of a file, or which files a
  // directory has.
  static zp::result<zp::claim> sniff(const zp::place_look& at) {
    return at.head().starts_with(name) ? zp::claim::plain : zp::claim::none;
  }

  // A store whose keys are those of a Zarr hierarchy. The file is not to be trusted: sizes are
  // checked before memory is made.
  static zp::result<zp::stored_place> open(const zp::place_look& at, const zp::place_use& use) {
    ZARRPOINT_TRY(file, at.open_file());
    if (file->size() < name.size())
      return zp::error{zp::errc::corrupt, at.path() + " ends before its elements begin"};
    const std::uint64_t count = file->size() - name.size();
    if (count > use.memory)
      return zp::error{zp::errc::resource_limit, at.path() + " is larger than limits::memory"};
    std::vector<std::uint8_t> value(static_cast<std::size_t>(count));
    ZARRPOINT_CHECK(file->read(name.size(), std::as_writable_bytes(std::span(value))));
    const zp::memory_store made;
    ZARRPOINT_TRY(root, zp::store_key::parse("root"));
    ZARRPOINT_CHECK(zp::save(zp::location(made, root), {{"value", value}}));
    return at.within(zp::prefix_store(made, root), "");
  }
};

// Saves as `zarrpoint::save` does: in one step, and over a file of its own format alone.
// `check_options` says what the caller asked for and the format has no place for.
inline zp::result<zp::save_report> save_as(const format&, const zp::save_request& what) {
  zp::save_report report;
  ZARRPOINT_TRY(warnings, zp::check_options(what, "a file of my format", {}));
  report.warnings = std::move(warnings);
  if (what.leaves.size() != 1 || what.leaves[0].name() != "value")
    return zp::error{zp::errc::unsupported, "a file of my format holds one leaf, \"value\""};
  ZARRPOINT_TRY(spec, what.leaves[0].spec());
  if (spec.type != zp::dtype_kind::uint8)
    return zp::error{zp::errc::unsupported, "a file of my format holds uint8"};
  ZARRPOINT_TRY(count, zp::element_count(spec.shape));
  ZARRPOINT_TRY(dense, zp::tensor::make(spec));
  ZARRPOINT_TRY(elements, what.leaves[0].view());
  zp::copy_elements(dense.mutable_view(), elements);

  const std::string path = what.where.name();
  std::string head(format::name.size(), ' ');
  if (std::ifstream old(path, std::ios::binary); old) {
    const bool is_ours =
        old.read(head.data(), static_cast<std::streamsize>(head.size())) && head == format::name;
    if (!is_ours || !what.options.overwrite)
      return zp::error{zp::errc::already_exists, path + " is there, and is not replaced"};
  }
  const std::string beside = path + ".part";
  std::ofstream out(beside, std::ios::binary);
  out << format::name;
  out.write(reinterpret_cast<const char*>(dense.view().data), static_cast<std::streamsize>(count));
  if (!out.flush() || std::rename(beside.c_str(), path.c_str()) != 0)
    return zp::error{zp::errc::io, path + " cannot be written"};
  report.bytes = static_cast<std::uint64_t>(count);
  return report;
}

}  // namespace my
