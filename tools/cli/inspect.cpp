// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint inspect`: what is in there, without reading an element.

#include <zarrpoint/zarr/json/json_writer.hpp>

#include "about_orbax.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "source.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace cli {

namespace {

/// `"bytes"`, `"zstd:1"`, `"bytes:big"`.
std::string codec_text(const zp::codec_spec& codec) {
  std::string out = escaped(codec.name);
  if (const zp::json* level = codec.configuration.find("level")) {
    if (const auto number = level->to_int64()) out += ':' + std::to_string(*number);
  }
  const zp::json* endian = codec.configuration.find("endian");
  if (endian != nullptr && endian->if_string() != nullptr && *endian->if_string() == "big")
    out += ":big";
  return out;
}

std::string ratio_text(std::uint64_t logical, std::uint64_t stored) {
  return stored == 0 || logical == entry::most_bytes
             ? ""
             : fixed(static_cast<double>(logical) / static_cast<double>(stored), 2);
}

/// Of elements, which may be more than are counted.
std::string logical_text(std::uint64_t bytes) {
  return bytes < entry::most_bytes ? byte_text(bytes) : "≥" + byte_text(bytes);
}

/// What one array takes, where that can be found out.
struct sizes {
  std::uint64_t logical = 0;
  std::optional<std::uint64_t> stored;
  std::optional<zp::error> fault;  ///< of the array, or why it is not known what is stored
};

class inspection {
 public:
  inspection(const source& from, const std::vector<std::size_t>& shown, std::string_view node,
             zp::json orbax)
      : from_(from), shown_(shown), node_(node), orbax_(std::move(orbax)) {
    for (const group_entry& group : from.groups()) {
      if (is_within(group.name, node)) groups_.push_back(&group);
    }
    for (const std::size_t i : shown) {
      sizes each{from.entries()[i].bytes(), {}, from.entries()[i].fault};
      if (auto stored = from.stored_bytes(i)) {
        each.stored = *stored;
      } else if (!each.fault) {
        each.fault = std::move(stored).failure();
      }
      total_.logical = entry::sum(total_.logical, each.logical);
      total_.stored = total_.stored.value_or(0) + each.stored.value_or(0);
      sizes_.push_back(each);
    }
  }

  std::string tree() const {
    branch root;
    for (const group_entry* group : groups_) place(root, group->name);
    for (std::size_t i = 0; i < shown_.size(); ++i)
      place(root, from_.entries()[shown_[i]].name).arrays.push_back(i);
    table out({"NAME", "KIND", "DTYPE", "SHAPE", "CHUNKS", "SHARDS", "CODECS", "STORED", "LOGICAL",
               "RATIO"});
    out.right_from(7);
    draw(root, "", out);
    const std::uint64_t stored = total_.stored.value_or(0);
    out.add({std::to_string(shown_.size()) + (shown_.size() == 1 ? " array" : " arrays"), "", "",
             "", "", "", "", byte_text(stored), logical_text(total_.logical),
             ratio_text(total_.logical, stored)});
    // What says most stays longest: the name, the dtype and the shape.
    const std::optional<std::size_t> limit = line_limit();
    if (limit) out.fit(*limit, {6, 5, 4, 1, 9, 8, 7, 3, 2, 0});
    std::string text = out.text(true) + attributes_text(limit) + orbax_text(limit);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      if (!sizes_[i].fault) continue;
      const std::string line = '"' + escaped(from_.entries()[shown_[i]].name) +
                               "\": " + escaped(to_string(*sizes_[i].fault), false);
      text += painted(limit ? cut_to(line, *limit) : line, paint::yellow) + '\n';
    }
    return text;
  }

  /// A line for the root and each group and array that has some.
  std::string attributes_text(std::optional<std::size_t> limit) const {
    table out({"", ""});
    out.right_from(2);
    const auto add = [&](const std::string& name, const zp::json& attributes) {
      if (attributes.if_object() == nullptr || attributes.if_object()->empty()) return;
      out.add({"  " + name, escaped(dump_json(strict_json(attributes)), false)});
    };
    add("(root)", from_.attributes());
    const bool is_root = from_.entries().size() == 1 && from_.entries()[0].name.empty();
    std::multimap<std::string_view, const zp::json*> by_name;
    for (const group_entry* group : groups_) by_name.emplace(group->name, &group->attributes);
    for (const std::size_t i : shown_) {
      const entry& array = from_.entries()[i];
      if (!is_root || array.attributes != from_.attributes())
        by_name.emplace(array.name, &array.attributes);
    }
    for (const auto& [name, attributes] : by_name)
      add(is_root ? "(root)" : escaped(name), *attributes);
    if (out.empty()) return {};
    if (limit) out.fit(*limit, {1});
    return painted("attributes", paint::bold) + '\n' + out.rows();
  }

  std::string orbax_text(std::optional<std::size_t> limit) const {
    table out({"", ""});
    out.right_from(2);
    for (const zp::json::member& line : orbax_lines(orbax_, node_))
      out.add({"  " + escaped(line.key), escaped(*line.value.if_string(), false)});
    if (out.empty()) return {};
    if (limit) out.fit(*limit, {1});
    return painted("orbax", paint::bold) + '\n' + out.rows();
  }

  zp::json json(const std::string& path) const {
    zp::json::array arrays;
    for (std::size_t i = 0; i < shown_.size(); ++i) arrays.push_back(json_of(i));
    zp::json::array groups;
    for (const group_entry* group : groups_) {
      zp::json one = zp::json::object{{"name", text_json(group->name)}};
      if (!group->attributes.is_null()) one.set("attributes", group->attributes);
      groups.push_back(std::move(one));
    }
    zp::json out = zp::json::object{{"path", text_json(path)}, {"format", from_.format()}};
    if (!from_.id().empty()) out.set("id", from_.id());
    if (!from_.attributes().is_null()) out.set("attributes", from_.attributes());
    if (!groups.empty()) out.set("groups", std::move(groups));
    out.set("arrays", std::move(arrays));
    zp::json totals = zp::json::object{{"arrays", std::uint64_t{shown_.size()}}};
    set_bytes(totals, total_.logical);
    totals.set("stored_bytes", total_.stored.value_or(0));
    out.set("totals", std::move(totals));
    if (!orbax_.is_null()) out.set("orbax", orbax_);
    return out;
  }

 private:
  /// A group, an array, or both, as formats without groups have it.
  struct branch {
    std::map<std::string, std::unique_ptr<branch>> children;
    std::vector<std::size_t> arrays;  // positions in `shown_`
  };

  static branch& place(branch& root, std::string_view rest) {
    branch* at = &root;
    for (std::size_t depth = 0; !rest.empty() && depth < 100; ++depth) {
      const std::size_t slash = rest.find('/');
      auto& child = at->children[std::string(rest.substr(0, slash))];
      if (child == nullptr) child = std::make_unique<branch>();
      at = child.get();
      rest = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
    }
    return *at;
  }

  void draw(const branch& at, const std::string& indent, table& to) const {
    for (const std::size_t position : at.arrays) {
      if (indent.empty() && at.children.empty()) to.add(row("(root)", position));
    }
    std::size_t left = at.children.size();
    for (const auto& [name, child] : at.children) {
      const bool last = --left == 0;
      const std::string label = indent + (last ? "└── " : "├── ") + escaped(name);
      if (child->arrays.empty()) to.add({label, "", "", "", "", "", "", "", "", ""});
      for (const std::size_t position : child->arrays) to.add(row(label, position));
      draw(*child, indent + (last ? "    " : "│   "), to);
    }
  }

  std::vector<std::string> row(const std::string& label, std::size_t position) const {
    const entry& array = from_.entries()[shown_[position]];
    const sizes& size = sizes_[position];
    std::string codecs;
    for (const zp::codec_spec& codec : array.codecs)
      codecs += (codecs.empty() ? "" : " ") + codec_text(codec);
    const bool chunked = array.spec && array.zarr_format != 0;
    return {label,
            array.typestr == "array" ? "" : escaped(kind_of_leaf(array)),
            escaped(array.type),
            array.spec         ? shape_text(array.spec->shape)
            : array.told_shape ? shape_text(*array.told_shape)
                               : "",
            chunked ? shape_text(*array.chunk_shape) : "",
            array.shard_shape ? shape_text(*array.shard_shape) : "",
            std::move(codecs),
            size.stored ? byte_text(*size.stored) : "?",
            array.spec && !array.spec->type.is_variable() ? logical_text(size.logical) : "",
            array.spec && !array.spec->type.is_variable() && size.stored
                ? ratio_text(size.logical, *size.stored)
                : ""};
  }

  /// The handler that saved it, or what it was to Orbax.
  std::string kind_of_leaf(const entry& array) const {
    const zp::json* const leaves = orbax_.find("leaves");
    if (leaves == nullptr) return array.typestr;
    const zp::json::object& sorted = *leaves->if_object();
    const auto at =
        std::lower_bound(sorted.begin(), sorted.end(), array.name,
                         [](const zp::json::member& a, const std::string& b) { return a.key < b; });
    if (at == sorted.end() || at->key != array.name) return array.typestr;
    return *at->value.find("kind")->if_string();
  }

  static void set_bytes(zp::json& to, std::uint64_t bytes) {
    if (bytes < entry::most_bytes) to.set("bytes", bytes);
  }

  zp::json json_of(std::size_t position) const {
    const entry& array = from_.entries()[shown_[position]];
    zp::json out = zp::json::object{{"name", text_json(array.name)}, {"dtype", array.type}};
    if (array.spec) out.set("shape", to_json(array.spec->shape));
    if (!array.spec && array.told_shape) out.set("shape", to_json(*array.told_shape));
    if (array.spec && array.zarr_format != 0) {
      out.set("zarr_format", array.zarr_format);
      out.set("chunks", to_json(*array.chunk_shape));
      if (array.shard_shape) out.set("shards", to_json(*array.shard_shape));
      out.set("fill_value", array.fill_value);
    }
    if (!array.codecs.empty()) {
      zp::json::array codecs;
      for (const zp::codec_spec& codec : array.codecs) {
        zp::json one = zp::json::object{{"name", codec.name}};
        if (!codec.configuration.is_null()) one.set("configuration", codec.configuration);
        codecs.push_back(std::move(one));
      }
      out.set("codecs", std::move(codecs));
    }
    if (!array.typestr.empty()) out.set("kind", array.typestr);
    if (array.attributes.if_object() != nullptr && !array.attributes.if_object()->empty())
      out.set("attributes", array.attributes);
    if (array.spec && !array.spec->type.is_variable()) set_bytes(out, sizes_[position].logical);
    if (sizes_[position].stored) out.set("stored_bytes", *sizes_[position].stored);
    if (const auto& fault = sizes_[position].fault) out.set("error", to_string(*fault));
    return out;
  }

  const source& from_;
  const std::vector<std::size_t>& shown_;
  std::string node_;
  zp::json orbax_;  ///< what it tells beside the arrays, or null
  std::vector<const group_entry*> groups_;
  std::vector<sizes> sizes_;
  sizes total_;
};

/// The path, what is there, and the commit, as far as the line goes.
std::string title(const std::string& path, const source& from) {
  constexpr std::size_t least = 12;
  const std::size_t limit = line_limit().value_or(SIZE_MAX);
  const std::size_t behind = 2 + columns(from.format());
  const std::string place =
      cut_to(escaped(path), std::min(limit, std::max(limit - std::min(limit, behind), least)));
  std::size_t left = limit - columns(place);
  std::string out = painted(place, paint::bold);
  for (const auto& [text, style] :
       {std::pair{from.format(), paint::plain}, std::pair{escaped(from.id()), paint::faint}}) {
    if (text.empty() || left <= 2 || (style == paint::faint && columns(text) + 2 > left)) break;
    const std::string shown = cut_to(text, left - 2);
    out += "  " + painted(shown, style);
    left -= 2 + columns(shown);
  }
  return out;
}

}  // namespace

namespace {

/// The names of arrays, one a line, as a command takes them; without those that have no line of
/// their own.
std::string lines_of(const source& from, const std::vector<std::size_t>& shown) {
  std::string out;
  for (const std::size_t i : shown) {
    const std::string& name = from.entries()[i].name;
    if (!name.empty() && escaped(name) == name) out += name + '\n';
  }
  return out;
}

}  // namespace

exit_status run_inspect(const inspect_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(from, open_source(of.path, how));
    for (const std::string& warning : from->warnings()) note(escaped(of.path) + ": " + warning);
    ZARRPOINT_TRY(shown, find_entries(*from, of.node).at(of.path));
    if (of.names) return put(lines_of(*from, shown));
    auto orbax = about_orbax(of.path, of.links, how.limit.memory);
    if (!orbax) note(escaped(of.path) + ": " + to_string(orbax.failure()));
    const inspection found(*from, shown, of.node, orbax ? *std::move(orbax) : zp::json());
    if (of.json) return put_json(found.json(of.path));
    return put(title(of.path, *from) + '\n' + found.tree());
  };
  if (const auto status = run(); !status) return fail(status.failure());
  return exit_status::ok;
}

}  // namespace cli
