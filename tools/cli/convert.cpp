// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint convert`: the same arrays in another format.

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/document.hpp>

#include "about_orbax.hpp"
#include "commands.hpp"
#include "conversion.hpp"
#include "files.hpp"
#include "kept_layout.hpp"
#include "output.hpp"
#include "rename.hpp"
#include "source.hpp"
#include "suggest.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace cli {

namespace {

zp::error bad(std::string what) { return {zp::errc::invalid_argument, std::move(what)}; }

/// `"[GLOB=]VALUE"`.
struct ruled {
  std::string glob;  ///< empty when there is none
  std::string value;
};

ruled split_rule(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == text.npos) return {{}, text};
  return {text.substr(0, at), text.substr(at + 1)};
}

zp::result<std::vector<zp::codec_spec>> codecs_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  std::optional<int> level;
  if (colon != text.npos) {
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + colon + 1, end, value);
    if (status != std::errc() || stop != end)
      return bad("--codec " + text + ": the level is not a number");
    level = value;
  }
  if (name == "none" && !level) return zp::raw_codecs();
  if (name == "zstd") return zp::zstd_codecs(level.value_or(1));
  if (name == "gzip") {
    std::vector<zp::codec_spec> out = zp::zstd_codecs();
    out[1] = {"gzip", zp::json::object{{"level", level.value_or(5)}}};
    return out;
  }
  if (name == "blosc") return zp::blosc_codecs(level.value_or(1));
  return bad("--codec " + text + ": expected blosc[:LEVEL], zstd[:LEVEL], gzip[:LEVEL] or none");
}

zp::result<std::vector<zp::codec_spec>> parse_codec(const std::string& text) {
  ZARRPOINT_TRY(codecs, codecs_of(text));
  ZARRPOINT_CHECK(zp::detail::check_levels(codecs).at("--codec " + text));
  return std::move(codecs);
}

zp::result<zp::dims> parse_shape(const std::string& option, const std::string& text) {
  zp::dims out;
  std::string_view rest = text;
  while (true) {
    zp::index_t value = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (status != std::errc() || value < 1 || out.rank() == zp::max_rank ||
        (!rest.empty() && rest[0] != ','))
      return bad(option + ' ' + text + ": expected lengths such as 256,256");
    out.push_back(value);
    if (rest.empty()) return out;
    rest.remove_prefix(1);
  }
}

/// Whether `path` lies in `folder`.
bool is_beneath(const std::string& path, const std::string& folder) {
  std::error_code unknown;
  const auto inner = std::filesystem::weakly_canonical(path, unknown);
  const auto outer = std::filesystem::weakly_canonical(folder, unknown);
  const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return !unknown && end == outer.end() && rest != inner.end();
}

/// What was asked for, against what there is.
class planner {
 public:
  planner(const convert_arguments& of, const source& from)
      : of_(of), plan_{from, {}, {}, of.out, of.overwrite}, kept_(plan_) {}

  zp::result<conversion> arrays() {
    const std::vector<entry>& all = plan_.from.entries();
    ZARRPOINT_TRY(chosen, choose());
    for (const group_entry* group : empty_) moved_.push_back(group->name);
    for (const std::size_t i : chosen) {
      if (all[i].fault) return left_in(all[i]);
      plan_.arrays.push_back({i, name_of(i), all[i].spec->type});
    }
    ZARRPOINT_CHECK(rename());
    if (target().starts_with("zarr") || target() == "orbax") place_groups();
    for (const std::string& text : of_.casts) ZARRPOINT_CHECK(add_cast(text));
    return plan_;
  }

  zp::result<zp::save_options> options() {
    zp::save_options out;
    out.zarr_format = target() == "zarr2" ? 2 : 3;  // for Orbax told apart
    out.overwrite = of_.overwrite;
    out.attributes = attributes();
    for (const converted& each : plan_.arrays) {
      const zp::json& own = plan_.from.entries()[each.index].attributes;
      if (has_members(own) && can_be_saved(own, "array \"" + escaped(each.name) + '"'))
        out.attributes_of.push_back({each.name, own});
    }
    for (const auto& [name, own] : group_attributes_) out.attributes_of.push_back({name, own});
    ZARRPOINT_CHECK(check_names());
    for (const converted& each : plan_.arrays) {
      if (each.type != plan_.spec(each).type)
        out.rules.push_back({.glob = each.name, .cast = each.type});
    }
    for (const std::string& text : of_.codecs) {
      const ruled rule = split_rule(text);
      ZARRPOINT_TRY(codecs, parse_codec(rule.value));
      const auto fits = [&](const converted& each) {
        return rule.glob.empty() || zp::detail::glob_match(rule.glob, each.name);
      };
      if (std::none_of(plan_.arrays.begin(), plan_.arrays.end(), fits))
        return bad("--codec " + text + ": no array matches");
      out.rules.push_back({.glob = rule.glob.empty() ? "**" : rule.glob, .codecs = codecs});
    }
    ZARRPOINT_CHECK(add_shapes("--chunk", of_.chunks, &zp::leaf_rule::chunk_shape, out));
    ZARRPOINT_CHECK(add_shapes("--shard", of_.shards, &zp::leaf_rule::shard_shape, out));
    const kept_format format{zarr_format(), target() == "orbax"};
    layouts_.clear();
    for (const converted& each : plan_.arrays) {
      const auto set = [&](auto member) {
        return zp::detail::last_set(out.rules, each.name, member);
      };
      const asked_layout asked{set(&zp::leaf_rule::chunk_shape), set(&zp::leaf_rule::shard_shape),
                               set(&zp::leaf_rule::codecs)};
      if (auto layout = kept_.keep(each, asked, format)) layouts_.push_back(*std::move(layout));
    }
    std::sort(layouts_.begin(), layouts_.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    out.layouts = layouts_;
    return out;
  }

  /// The format asked for, or else that of the name; empty when neither tells.
  std::string target() const {
    if (!of_.to.empty()) return of_.to;
    if (!of_.max_file_size.empty()) return "safetensors";
    const std::string name = file_name(of_.out);
    if (name.ends_with(".safetensors")) return "safetensors";
    if (name.ends_with(".npz")) return "npz";
    const bool is_zarr =
        name.ends_with(".zarr") || name.ends_with(".zip") || name.find('.') == name.npos;
    return is_zarr ? "zarr3" : "";
  }

  /// What formats that are not Zarr lose.
  void note_lost() {
    if (target() != "orbax") {
      const auto orbax = about_orbax(of_.in, of_.links, plan_.from.how().limit.memory);
      if (orbax) kept_.lose_tree(*orbax);
    }
    if (target().starts_with("zarr")) return;
    if (target() == "orbax") return note_attributes();
    for (const converted& each : plan_.arrays) kept_.lose_all(each);
    for (const group_entry* group : empty_) kept_.lose("empty group", group->name);
    note_attributes();
  }
  /// What is not kept of how arrays are stored, when all is done.
  void tell_lost() const { kept_.tell(target()); }

  void note_attributes() const {
    std::size_t arrays = 0;
    for (const converted& each : plan_.arrays) {
      if (is_lost(each)) ++arrays;
    }
    zp::json root = plan_.from.attributes();
    // That of a checkpoint of many processes says how it is stored.
    if (zp::json::object* const members = root.if_object())
      std::erase_if(*members, [](const auto& one) { return one.key == "zarrpoint_strategies"; });
    if (is_of_pytorch() && has_members(root))
      note("attributes of the root are left out: " + target() + " has no place for them");
    std::size_t groups = 0;
    for (const group_entry& group : plan_.from.groups()) {
      if (has_members(group.attributes) && place_of(group.name).is_converted) ++groups;
    }
    const auto counted = [](std::size_t count, const std::string& what) {
      return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
    };
    if (arrays + groups == 0) return;
    note("attributes of " + (arrays != 0 ? counted(arrays, "array") : "") +
         (arrays != 0 && groups != 0 ? " and " : "") +
         (groups != 0 ? counted(groups, "group") : "") + " are left out: " + target() +
         " has no place for them");
  }

  zp::result<void> check_target() const {
    const std::string to = target();
    if (is_beneath(of_.in, of_.out))
      return bad('"' + of_.in + "\" lies in \"" + of_.out + "\", which --overwrite would replace");
    if (to.empty())
      return bad(
          "give --to (zarr3, zarr2, orbax, safetensors, npz, dcp or torch_dist): the name \"" +
          of_.out + "\" does not tell the format");
    if (of_.strings == "skip" && to != "safetensors")
      return bad("--strings is for safetensors only; " + to + " can hold strings");
    ZARRPOINT_CHECK(max_file_bytes());
    if (to != "orbax" && (!of_.ocdbt.empty() || of_.zarr_format))
      return bad("--ocdbt and --zarr-format are for orbax only, not for " + to);
    if (to == "orbax" && of_.zarr_format == 2 && !of_.shards.empty())
      return bad("--shard needs --zarr-format 3: Zarr v2 has no shards");
    if (to == "torch_dist" && zp::detail::is_zip_path(of_.out))
      return bad("--to torch_dist: Megatron-Core reads directories, and \"" + of_.out +
                 "\" would be a zip file");
    if (to.starts_with("zarr") || to == "orbax") return {};
    if (!of_.codecs.empty() || !of_.chunks.empty() || !of_.shards.empty())
      return bad("--codec, --chunk and --shard are for Zarr and Orbax only, not for " + to);
    return {};
  }

  /// Of the files that a model is divided into; 0 for one file.
  zp::result<std::uint64_t> max_file_bytes() const {
    if (of_.max_file_size.empty()) return std::uint64_t{0};
    if (target() != "safetensors")
      return bad("--max-file-size is for safetensors only, not for " + target());
    if (file_name(of_.out).ends_with(".safetensors"))
      return bad("--max-file-size makes a directory, and \"" + of_.out + "\" names a file");
    std::uint64_t bytes = 0;
    if (!parse_bytes(of_.max_file_size, bytes) || bytes == 0)
      return bad("--max-file-size: \"" + of_.max_file_size + "\" is not a size such as 5G");
    return bytes;
  }

 private:
  /// Why an array that cannot be read stops the conversion.
  static zp::error left_in(const entry& array) {
    zp::error out = zp::error(*array.fault).at("array \"" + escaped(array.name) + '"');
    if (!array.name.empty())
      out.message += "; --skip \"" + escaped(array.name) + "\" leaves it out";
    return out;
  }

  /// In the source; an array without a name has that of its file, or where another array has that,
  /// it with `~2`, `~3` and so on.
  std::string name_of(std::size_t i) const {
    const std::vector<entry>& all = plan_.from.entries();
    const std::string_view own = name_in_file(all[i]);
    // That format has any name, each once.
    if (!own.empty() && target() == "safetensors" && plan_.from.format().starts_with(target()))
      return std::string(own);
    if (!all[i].name.empty()) return all[i].name;
    const std::string stem = file_stem(of_.in);
    std::string out = stem;
    const auto is_out = [&](const entry& one) { return one.name == out; };
    for (int n = 2; std::any_of(all.begin(), all.end(), is_out); ++n)
      out = stem + '~' + std::to_string(n);
    return out;
  }

  /// The arrays that `--only` and `--skip` leave, and the groups without arrays.
  zp::result<std::vector<std::size_t>> choose() {
    std::vector<std::size_t> out;
    std::vector<bool> used(of_.only.size() + of_.skip.size());
    const auto is_chosen = [&](const std::string& name) {
      // Each glob is looked at, so that one which matches nothing is told.
      const auto any = [&](const std::vector<std::string>& globs, std::size_t first) {
        bool found = false;
        for (std::size_t k = 0; k < globs.size(); ++k) {
          if (!zp::detail::glob_match(globs[k], name)) continue;
          used[first + k] = true;
          found = true;
        }
        return found;
      };
      const bool wanted = any(of_.only, 0) || of_.only.empty();
      const bool unwanted = any(of_.skip, of_.only.size());
      return wanted && !unwanted;
    };
    for (std::size_t i = 0; i < plan_.from.entries().size(); ++i) {
      const entry& array = plan_.from.entries()[i];
      if (is_chosen(name_of(i))) {
        out.push_back(i);
      } else if (array.fault) {
        note("array \"" + escaped(array.name) +
             "\", which cannot be read, is left out: " + to_string(*array.fault));
      }
    }
    for (const group_entry& group : plan_.from.groups()) {
      if (!holds_array(group.name) && is_chosen(group.name)) empty_.push_back(&group);
    }
    for (std::size_t k = 0; k < used.size(); ++k) {
      if (used[k]) continue;
      const bool is_only = k < of_.only.size();
      return bad((is_only ? "--only " + of_.only[k] : "--skip " + of_.skip[k - of_.only.size()]) +
                 ": no array matches");
    }
    if (out.empty() && !plan_.from.entries().empty())
      return bad("--only and --skip leave nothing to convert");
    return out;
  }

  /// The last rule that fits a name counts.
  zp::result<void> rename() {
    std::vector<std::optional<std::string>> names(plan_.arrays.size());
    for (const std::string& text : of_.renames) {
      ZARRPOINT_TRY(rule, rename_rule::parse(text));
      bool any = false;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const auto name = rule.apply(plan_.arrays[i].name);
        if (!name) continue;
        any = true;
        if (name->empty())
          return bad("--rename " + text + ": array \"" + escaped(plan_.arrays[i].name) +
                     "\" would have no name");
        names[i] = name;
      }
      for (std::size_t i = 0; i < moved_.size(); ++i) {
        const auto name = rule.apply(empty_[i]->name);
        if (!name) continue;
        any = true;
        moved_[i] = *name;
      }
      if (!any) return bad("--rename " + text + ": no array or group matches");
    }
    std::map<std::string, std::string> before;  // by the new name
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string old = plan_.arrays[i].name;
      if (names[i]) plan_.arrays[i].name = *names[i];
      const auto [at, is_new] = before.emplace(plan_.arrays[i].name, old);
      if (!is_new && !of_.renames.empty())
        return bad("--rename: \"" + escaped(at->second) + "\" and \"" + escaped(old) +
                   "\" would both be \"" + escaped(at->first) + '"');
    }
    return {};
  }

  zp::result<void> add_cast(const std::string& text) {
    const ruled rule = split_rule(text);
    const auto type = zp::parse_dtype(rule.value);
    if (rule.glob.empty())
      return bad("--dtype " + text + ": expected GLOB=T, such as \"**=bfloat16\"");
    if (!type) {
      std::vector<std::string_view> known;
      for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
        if (zp::dtype(kind).is_number()) known.push_back(to_string(zp::dtype(kind)));
      }
      return bad("--dtype " + text + ": \"" + rule.value + "\" is not a dtype to cast to" +
                 suggestion(rule.value, "dtypes", known));
    }
    bool any = false;
    for (converted& each : plan_.arrays) {
      if (!zp::detail::glob_match(rule.glob, each.name)) continue;
      any = true;
      const zp::dtype stored = plan_.spec(each).type;
      if (!stored.castable_to(*type))
        return zp::error{zp::errc::unsupported,
                         "array \"" + escaped(each.name) + "\": no cast from " +
                             std::string(to_string(stored)) + " to " + rule.value};
      each.type = *type;
    }
    if (!any) return bad("--dtype " + text + ": no array matches");
    return {};
  }

  /// Rules for one array have its name for a glob, which must not match others.
  zp::result<void> check_names() const {
    if (of_.casts.empty() && of_.chunks.empty() && of_.shards.empty()) return {};
    for (const converted& each : plan_.arrays) {
      if (each.name.find_first_of("*?") != each.name.npos)
        return zp::error{zp::errc::unsupported,
                         "--dtype, --chunk and --shard cannot be used with the array name \"" +
                             escaped(each.name) + "\", which holds * or ?"};
    }
    return {};
  }

  /// A shape without a glob is for the arrays of its rank.
  zp::result<void> add_shapes(const std::string& option, const std::vector<std::string>& texts,
                              zp::optional_dims zp::leaf_rule::*member,
                              zp::save_options& to) const {
    for (const std::string& text : texts) {
      const ruled rule = split_rule(text);
      ZARRPOINT_TRY(shape, parse_shape(option, rule.value));
      bool any = false;
      for (const converted& each : plan_.arrays) {
        if (rule.glob.empty() ? plan_.spec(each).shape.rank() != shape.rank()
                              : !zp::detail::glob_match(rule.glob, each.name))
          continue;
        any = true;
        zp::leaf_rule one{.glob = each.name};
        one.*member = shape;
        to.rules.push_back(std::move(one));
      }
      if (!any) return bad(option + ' ' + text + ": no array that matches has this rank");
    }
    return {};
  }

  static bool has_members(const zp::json& attributes) {
    const zp::json::object* members = attributes.if_object();
    return members != nullptr && !members->empty();
  }

  bool is_of_pytorch() const { return target() == "dcp" || target() == "torch_dist"; }

  /// Of a value of Python the attributes say what it is, and PyTorch's formats have it. Orbax has
  /// the keys of its own leaves.
  bool is_lost(const converted& array) const {
    const entry& from = plan_.from.entries()[array.index];
    if (!has_members(from.attributes)) return false;
    const bool keeps_keys =
        target() == "orbax" && plan_.from.format().starts_with("Orbax") && from.name == array.name;
    const zp::json::object& members = *from.attributes.if_object();
    return std::any_of(members.begin(), members.end(), [&](const zp::json::member& one) {
      if (is_of_pytorch()) return one.key != "content_type" && one.key != "python_type";
      const bool keeps_name = keeps_keys || name_in_file(from) == array.name;
      return !keeps_name || one.key != zp::detail::original_name_member;
    });
  }

  bool holds_array(const std::string& group) const {
    const std::vector<entry>& all = plan_.from.entries();
    const auto at = std::lower_bound(
        all.begin(), all.end(), group + '/',
        [](const entry& one, const std::string& wanted) { return one.name < wanted; });
    return at != all.end() && at->name.starts_with(group + '/');
  }

  /// Where the arrays of a group are in the target.
  struct group_place {
    bool is_converted = false;        ///< one of its arrays is
    std::optional<std::string> name;  ///< nothing: they were torn apart; empty: in the root
  };

  /// In a group again, if they moved there together, or where they were, if some are there still.
  group_place place_of(const std::string& group) const {
    const std::string prefix = group + '/';
    const auto name_of = [&](const converted& one) -> const std::string& {
      return plan_.from.entries()[one.index].name;
    };
    auto at = std::lower_bound(
        plan_.arrays.begin(), plan_.arrays.end(), prefix,
        [&](const converted& one, const std::string& wanted) { return name_of(one) < wanted; });
    group_place out;
    bool is_torn = false;
    for (; at != plan_.arrays.end() && name_of(*at).starts_with(prefix); ++at) {
      if (at->name.starts_with(prefix)) return {true, group};
      const std::string rest = '/' + name_of(*at).substr(prefix.size());
      const std::string rooted = '/' + at->name;
      const std::string to =
          rooted.ends_with(rest) ? rooted.substr(0, rooted.size() - rest.size()) : "?";
      const std::string there = to.empty() ? to : to.substr(1);
      is_torn = is_torn || to == "?" || (out.is_converted && out.name != there);
      out = {true, there};
    }
    if (is_torn) out.name.reset();
    return out;
  }

  /// Groups without arrays, and what attributes groups have.
  void place_groups() {
    std::map<std::string, std::string> taken;  // by the name in the target
    const auto take = [&](const group_entry& group, const std::optional<std::string>& to) {
      if (!has_members(group.attributes)) return;
      const std::string called = "group \"" + escaped(group.name) + '"';
      const auto lost = [&](const std::string& why) {
        note("attributes of " + called + " are left out: " + why);
      };
      zp::json own = without_reserved(group.attributes, " of " + called);
      if (!has_members(own) || !can_be_saved(own, called)) return;
      if (!to) return lost("its arrays are not in one group any more");
      if (to->empty()) return lost("its arrays are in the root of the target");
      const auto [at, is_new] = taken.emplace(*to, group.name);
      if (!is_new) return lost("those of \"" + escaped(at->second) + "\" have their place");
      group_attributes_.push_back({*to, std::move(own)});
    };
    for (const group_entry& group : plan_.from.groups()) {
      if (!holds_array(group.name)) continue;
      const group_place place = place_of(group.name);
      if (place.is_converted) take(group, place.name);
    }
    for (std::size_t i = 0; i < empty_.size(); ++i) {
      take(*empty_[i], moved_[i]);
      if (!moved_[i].empty()) plan_.empty_groups.push_back(moved_[i]);
    }
  }

  /// Says it of attributes that are not.
  static bool can_be_saved(const zp::json& attributes, const std::string& whose) {
    constexpr std::size_t levels = 40;  // as `save_options::attributes_of` allows
    const auto status = zp::detail::check_writable(attributes, levels);
    if (!status)
      note("attributes of " + whose + " are left out: " + std::string(status.failure().message));
    return status.has_value();
  }

  /// Those of the root.
  zp::json attributes() const { return without_reserved(plan_.from.attributes(), ""); }

  static zp::json without_reserved(const zp::json& attributes, const std::string& whose) {
    const zp::json::object* members = attributes.if_object();
    if (members == nullptr) return {};
    zp::json::object kept;
    for (const zp::json::member& member : *members) {
      if (member.key == "zarrpoint") {
        note("attribute \"zarrpoint\"" + whose + " is left out: the name is reserved");
      } else {
        kept.push_back(member);
      }
    }
    return kept;
  }

  int zarr_format() const {
    if (target() == "orbax") return of_.zarr_format.value_or(3);
    return target() == "zarr2" ? 2 : 3;
  }

  const convert_arguments& of_;
  conversion plan_;
  layout_keeper kept_;
  std::vector<zp::leaf_layout> layouts_;   ///< to which the options of the save lead
  std::vector<const group_entry*> empty_;  ///< groups without arrays that are converted
  std::vector<std::string> moved_;         ///< their names in the target
  zp::json::object group_attributes_;      ///< by name in the target
};

zp::result<void> write_converted(planner& plan, const conversion& what, const convert_arguments& of,
                                 const zp::context& how) {
  const std::string to = plan.target();
  if (to == "safetensors") {
    ZARRPOINT_TRY(most, plan.max_file_bytes());
    const bool skips = of.strings == "skip";
    return most == 0 ? convert_to_safetensors(what, skips)
                     : convert_to_safetensors_files(what, skips, most);
  }
  if (to == "npz") return convert_to_npz(what);
  if (to == "dcp") return convert_to_dcp(what, how);
  if (to == "torch_dist") {
    torch_dist_target target{.in = of.in,
                             .links = of.links,
                             .has_all_arrays = of.only.empty() && of.skip.empty(),
                             .renames = {}};
    for (const std::string& text : of.renames) {
      ZARRPOINT_TRY(rule, rename_rule::parse(text));
      target.renames.push_back(std::move(rule));
    }
    return convert_to_torch_dist(what, target, how);
  }
  ZARRPOINT_TRY(options, plan.options());
  if (to != "orbax") return convert_to_zarr(what, options, how);
  const orbax_target target{.zarr_format = of.zarr_format.value_or(3),
                            .ocdbt = of.ocdbt != "off",
                            .in = of.in,
                            .links = of.links,
                            .is_whole = of.only.empty() && of.skip.empty() && of.renames.empty()};
  return convert_to_orbax(what, options, target, how);
}

}  // namespace

exit_status run_convert(const convert_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    // What is read takes its part of the memory, too.
    zp::context reading = how;
    reading.limit.memory /= 4;
    reading.limit.bytes_in_flight = std::min(how.limit.bytes_in_flight, reading.limit.memory / 2);
    reading.scratch = nullptr;
    zp::context writing = how;
    writing.limit.memory -= reading.limit.memory;
    ZARRPOINT_TRY(from, open_source(of.in, with_scratch(reading)));
    for (const std::string& warning : from->warnings()) note(escaped(of.in) + ": " + warning);
    planner plan(of, *from);
    ZARRPOINT_CHECK(plan.check_target());
    ZARRPOINT_CHECK(check_free(of.out, of.overwrite));
    ZARRPOINT_TRY(what, plan.arrays().at(of.in));
    plan.note_lost();
    ZARRPOINT_CHECK(write_converted(plan, what, of, writing));
    plan.tell_lost();
    return {};
  };
  if (const auto status = run(); !status) return fail(status.failure());
  return exit_status::ok;
}

}  // namespace cli
