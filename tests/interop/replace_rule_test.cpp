// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>

#include "support/hooked_publisher.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

// What a save may replace, for every format that is saved: the rule of docs/guide.md.

namespace replace_rule_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

/// A format, and how it saves one tensor of these values.
struct format {
  std::string name;
  std::string says;                     ///< of the checkpoint, when others find it
  std::vector<std::string> vouched_by;  ///< without these it is a part of one
  std::function<result<save_summary>(const std::string&, const std::vector<float>&, bool)> save;
};

/// The common part of any report.
template <class Report>
result<save_summary> summary(result<Report> of) {
  if (!of) return std::move(of).failure();
  return save_summary(*std::move(of));
}

format of_group(const std::string& name, std::string says, std::vector<std::string> vouched_by,
                strategy_choice how) {
  return {name, std::move(says), std::move(vouched_by),
          [how](const std::string& path, const std::vector<float>& w, bool overwrite) {
            process_group group;
            group.ranks = single_process{};
            group.known = megatron::strategies::table();
            const state tree{{"w", shard("w", w, {}).value()}};
            return summary(zarrpoint::save(
                path, tree, group,
                {.storage = {.overwrite = overwrite, .sync = false}, .sharded = how}));
          }};
}

std::vector<format> all_formats() {
  std::vector<format> out;
  for (const int version : {2, 3})
    out.push_back({"zarr v" + std::to_string(version),
                   "a zarrpoint checkpoint",
                   {version == 3 ? "zarr.json" : ".zattrs"},
                   [version](const std::string& path, const std::vector<float>& w, bool overwrite) {
                     return summary(
                         save(path, {{"w", w}},
                              {.zarr_format = version, .overwrite = overwrite, .sync = false}));
                   }});
  out.push_back(of_group("zarr of a group", "a zarrpoint checkpoint", {"zarr.json"}, {"zarr", 3}));
  out.push_back(of_group("megatron", "a Megatron-Core checkpoint", {"metadata.json"}, {"zarr", 1}));
  out.push_back(
      of_group("torch_dist", "a Megatron-Core checkpoint", {"metadata.json"}, {"torch_dist", 1}));
  out.push_back(
      {"dcp",
       "a PyTorch (DCP) checkpoint",
       {".metadata"},
       [](const std::string& path, const std::vector<float>& w, bool overwrite) {
         return summary(dcp::save(path, {{"w", w}}, {.overwrite = overwrite, .sync = false}));
       }});
  for (const char* item : {"", "state"})
    out.push_back(
        {std::string("orbax ") + item,
         "an Orbax checkpoint",
         {"_METADATA", "_CHECKPOINT_METADATA"},
         [item](const std::string& path, const std::vector<float>& w, bool overwrite) {
           return summary(orbax::save(
               path, {{"w", w}},
               {.overwrite = overwrite, .sync = false, .format = orbax::format{.item = item}}));
         }});
  out.push_back({"safetensors",
                 "a safetensors model",
                 {"model-00001-of-00001.safetensors"},
                 [](const std::string& path, const std::vector<float>& w, bool overwrite) {
                   const host_view view =
                       dense_view(reinterpret_cast<const std::byte*>(w.data()),
                                  {dtype_of<float>, {static_cast<index_t>(w.size())}});
                   return summary(safetensors::save_files(
                       path, std::vector<safetensors::named_view>{{"w", view}},
                       {.overwrite = overwrite, .sync = false}));
                 }});
  return out;
}

/// The files beneath a directory and their bytes; "link" for links.
std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& one : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(one.path(), folder).string();
    if (one.is_symlink()) {
      out[name] = "link";
    } else {
      out[name] = one.is_directory() ? "directory" : test::read_file(one.path());
    }
  }
  return out;
}

const std::vector<float> first{1, 2}, second{3, 4, 5};

/// Saves to "c", which is refused, and nothing in the folder changes. Returns the message.
std::string refused(const format& of, const test::temp_directory& folder, bool overwrite,
                    errc code = errc::already_exists) {
  const auto before = files_in(folder.path());
  const auto done = of.save(folder / "c", second, overwrite);
  REQUIRE_FALSE(done);
  CAPTURE(done.failure().message);
  CHECK(done.failure().code == code);
  CHECK(files_in(folder.path()) == before);
  return done.failure().message;
}

void check_cure(const std::string& message) {
  CAPTURE(message);
  CHECK(message.ends_with("; nothing was changed; save elsewhere or remove it"));
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("replace_rule: nothing, and an empty directory") {
  for (const format& of : all_formats()) {
    CAPTURE(of.name);
    for (const bool is_there : {false, true}) {
      for (const bool overwrite : {false, true}) {
        const test::temp_directory folder;
        if (is_there) fs::create_directory(folder / "c");
        const auto done = of.save(folder / "c", first, overwrite);
        REQUIRE(done);
        CHECK(done->kept.empty());
      }
    }
  }
}

TEST_CASE("replace_rule: a whole checkpoint of the same format, and what others put into it") {
  for (const format& of : all_formats()) {
    CAPTURE(of.name);
    const test::temp_directory folder, fresh;
    REQUIRE(of.save(folder / "c", first, true));
    test::write_file(folder / "c/notes.txt", "mine");
    fs::create_directory(folder / "c/logs");
    test::write_file(folder / "c/logs/1", "mine, too");
    CHECK(has(refused(of, folder, false),
              "c is there already, and overwrite is false; nothing was changed; save elsewhere or "
              "remove it"));
    const auto done = of.save(folder / "c", second, true);
    REQUIRE(done);
    CHECK(done->kept == std::vector<std::string>{"logs/", "notes.txt"});
    CHECK(done->warnings.empty());
    CHECK(test::read_file(folder / "c/notes.txt") == "mine");
    CHECK(test::read_file(folder / "c/logs/1") == "mine, too");
    // Of the old one nothing is left.
    REQUIRE(of.save(fresh / "c", second, true));
    auto names = test::names_in(fresh / "c");
    names.insert(names.end(), {"logs", "notes.txt"});
    std::sort(names.begin(), names.end());
    if (of.name != "orbax " && of.name != "orbax state")
      CHECK(test::names_in(folder / "c") == names);
  }
}

TEST_CASE("replace_rule: never a checkpoint of another format") {
  const std::vector<format> all = all_formats();
  for (const format& there : all) {
    CAPTURE(there.name);
    const test::temp_directory folder;
    REQUIRE(there.save(folder / "c", first, true));
    for (const format& of : all) {
      CAPTURE(of.name);
      const bool is_zarr = of.says == "a zarrpoint checkpoint" && of.says == there.says;
      if (is_zarr || of.name == there.name) continue;
      for (const bool overwrite : {false, true}) {
        const std::string said = refused(of, folder, overwrite);
        check_cure(said);
        const bool both_orbax = of.says == there.says && of.says == "an Orbax checkpoint";
        const bool has_dcp = of.name == "dcp" && there.name == "torch_dist";
        CHECK(has(said, both_orbax ? "of Orbax"
                        : has_dcp  ? "but also a Megatron-Core checkpoint"
                                   : "c is " + there.says + ", not a"));
      }
    }
  }
}

TEST_CASE("replace_rule: never a directory of others, a file, or a link") {
  for (const format& of : all_formats()) {
    CAPTURE(of.name);
    for (const bool overwrite : {false, true}) {
      const test::temp_directory folder;
      fs::create_directory(folder / "c");
      test::write_file(folder / "c/thesis.txt", "years of work");
      std::string said = refused(of, folder, overwrite);
      check_cure(said);
      CHECK(has(said, "c is a directory with other files, not a"));
      fs::remove_all(folder / "c");
      test::write_file(folder / "c", "a file");
      said = refused(of, folder, overwrite);
      check_cure(said);
      CHECK(has(said, "c is a file, not a"));
      fs::remove(folder / "c");
      for (const char* to : {"nowhere", "d"}) {
        fs::create_symlink(to, folder / "c");
        CHECK(has(refused(of, folder, overwrite, errc::io), "symbolic link"));
        fs::remove(folder / "c");
        fs::create_directory(folder / "d");
      }
    }
  }
}

TEST_CASE("replace_rule: never a half of a checkpoint") {
  for (const format& of : all_formats()) {
    CAPTURE(of.name);
    const test::temp_directory folder;
    REQUIRE(of.save(folder / "c", first, true));
    for (const std::string& name : of.vouched_by) fs::remove(folder / "c" + ("/" + name));
    check_cure(refused(of, folder, true));
  }
}

TEST_CASE("replace_rule: a file that is named like theirs is not their checkpoint") {
  for (const format& of : all_formats()) {
    if (of.says == "a Megatron-Core checkpoint") continue;  // it is a file of its own
    CAPTURE(of.name);
    const test::temp_directory folder;
    REQUIRE(of.save(folder / "c", first, true));
    test::write_file(folder / "c/metadata.json", R"({"name": "my run"})");
    fs::create_directory(folder / "c/_METADATA.d");
    const auto done = of.save(folder / "c", second, true);
    REQUIRE(done);
    CHECK(done->kept == std::vector<std::string>{"_METADATA.d/", "metadata.json"});
    // Two checkpoints in one place: none of them is the whole.
    test::write_file(folder / "c/metadata.json", R"({"sharded_backend": "other"})");
    const std::string said = refused(of, folder, true);
    check_cure(said);
    CHECK(has(said, ", but also a Megatron-Core checkpoint"));
  }
}

/// A way to save one leaf, and what makes a directory a checkpoint of another format.
struct saver {
  const char* name;
  std::function<result<save_report>(const location&)> save;
  const char* foreign;
};

std::vector<saver> all_savers() {
  const auto by_group = [](const any_writable_format& as) {
    return [as](const location& where) {
      return save(where, state{{"w", shard("w", first, {}).value()}}, {},
                  {.storage = {.sync = false, .format = as}});
    };
  };
  const auto by_one = [](const any_writable_format& as) {
    return [as](const location& where) {
      return save(where, {{"w", first}}, {.sync = false, .format = as});
    };
  };
  return {{"zarr", by_one({}), "_METADATA"},
          {"zarr of a group", by_group({}), ".metadata"},
          {"orbax", by_one(orbax::format{}), ".metadata"},
          {"orbax of a group", by_group(orbax::format{}), ".metadata"},
          {"dcp", by_group(dcp::format{}), "_METADATA"},
          {"safetensors", by_one(safetensors::format{}), ".metadata"}};
}

TEST_CASE("replace_rule: a checkpoint of another format that comes during a save is refused") {
  for (const saver& of : all_savers()) {
    for (const bool is_there : {false, true}) {
      CAPTURE(of.name);
      CAPTURE(is_there);
      const test::temp_directory folder;
      const auto save_with = [&](const char* comes) {
        const location where(test::hooked_publisher{file_store::open(folder / "").value(),
                                                    {.after_stage =
                                                         [&, comes] {
                                                           if (comes == nullptr) return;
                                                           fs::create_directories(folder / "c");
                                                           test::write_file(
                                                               folder / (std::string("c/") + comes),
                                                               "x");
                                                         }}},
                             store_key::parse("c").value());
        return of.save(where);
      };
      if (is_there) REQUIRE(save_with(nullptr));
      const auto before = files_in(folder.path());
      const auto refused = save_with(of.foreign);
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().code == errc::already_exists);
      CHECK(has(refused.failure().message, "that came there during the save"));
      auto after = files_in(folder.path());
      CHECK(after.erase(std::string("c/") + of.foreign) == 1);
      after.erase("c");
      auto old = before;
      old.erase("c");
      CHECK(after == old);
      // Other files are kept, as ever.
      fs::remove(folder / (std::string("c/") + of.foreign));
      const auto done = save_with("note.txt");
      REQUIRE(done);
      CHECK(done->kept == std::vector<std::string>{"note.txt"});
    }
  }
}

TEST_CASE("replace_rule: what others put in the place of a checkpoint during a save stays") {
  const auto put = [](const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(path).parent_path());
    test::write_file(path, std::string(text));
  };
  const char* const group = R"({"zarr_format":3,"node_type":"group"})";
  for (const saver& of : all_savers()) {
    CAPTURE(of.name);
    const test::temp_directory folder;
    const auto save_while = [&](const std::function<void()>& others) {
      return of.save(location(
          test::hooked_publisher{file_store::open(folder / "").value(), {.after_stage = others}},
          store_key::parse("c").value()));
    };
    const auto check_refused = [](const result<save_report>& done) {
      REQUIRE_FALSE(done);
      CHECK(done.failure().code == errc::already_exists);
      CHECK(has(done.failure().message, "during the save"));
    };
    check_refused(save_while([&] { put(folder / "c", "a file"); }));
    CHECK(test::read_file(folder / "c") == "a file");
    fs::remove(folder / "c");
    const bool is_zarr = std::string_view(of.name).starts_with("zarr");
    if (is_zarr) {
      check_refused(save_while([&] {
        put(folder / "c/zarr.json", group);
        put(folder / "c/theirs/zarr.json", group);
      }));
      CHECK(test::read_file(folder / "c/zarr.json") == group);
      CHECK(fs::exists(folder / "c/theirs/zarr.json"));
      fs::remove_all(folder / "c");
    }
    if (std::string_view(of.name) == "dcp") {
      check_refused(save_while([&] { put(folder / "c/__0_0.distcp", "of a save at work"); }));
      CHECK(test::read_file(folder / "c/__0_0.distcp") == "of a save at work");
      fs::remove_all(folder / "c");
    }
    // A hierarchy beneath it is a folder as any other.
    const auto done = save_while([&] { put(folder / "c/theirs/zarr.json", group); });
    REQUIRE(done);
    CHECK(done->kept == std::vector<std::string>{"theirs/"});
    CHECK(test::read_file(folder / "c/theirs/zarr.json") == group);
  }
}

}  // namespace replace_rule_test
