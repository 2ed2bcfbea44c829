// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// How checkpoints are published in S3 and in Google Cloud Storage: what readers see, whatever two
// writers do.

#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/gcs.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_s3.hpp"
#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace s3_publish_tests {

using namespace test;

namespace {

using s3 = made_of<bucket_kind::s3>;
using gcs = made_of<bucket_kind::gcs>;
using gcs_xml = made_of<bucket_kind::gcs_xml>;

std::vector<float> values(float of) { return std::vector<float>(1000, of); }

zp::result<zp::save_report> save(const fake_s3& of, float value, bool overwrite = true) {
  return zp::save(open_fake_place(of), {{"layers/0/w", values(value)}, {"step", value}},
                  {.overwrite = overwrite});
}

/// The value of the whole checkpoint that is there now, as a new reader sees it; nothing where
/// there is none. An error for a mixed one.
zp::result<std::optional<float>> seen(const fake_s3& of) {
  const auto opened = zp::open(open_fake_place(of));
  if (!opened && opened.failure().code == zp::errc::not_found) return std::optional<float>();
  if (!opened) return opened.failure();
  ZARRPOINT_TRY(w, opened->load<std::vector<float>>("layers/0/w"));
  ZARRPOINT_TRY(step, opened->load<float>("step"));
  if (w != values(step)) return zp::error{zp::errc::corrupt, "two checkpoints are mixed"};
  return std::optional(step);
}

/// A server by its URL.
struct url_access {
  static inline fake_s3 server;
  static zp::any_transport transport() { return server; }
  static zp::s3_options s3() { return fake_s3_options(server); }
};

bool has_prefix(const fake_s3& of, std::string_view prefix) {
  const auto keys = of.keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const std::string& one) { return one.starts_with(prefix); });
}

}  // namespace

TEST_CASE_TEMPLATE(
    "buckets: the first checkpoint has its plain keys, a later one a prefix of its own", kind, s3,
    gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  CHECK(seen(of).value() == 1);
  CHECK(of->objects.contains("model.zarr/zarr.json"));
  CHECK(of->objects.contains("model.zarr/layers/0/w/zarr.json"));
  const auto old = zp::open(open_fake_place(of)).value();
  save(of, 2).value();
  CHECK(seen(of).value() == 2);
  // Those who opened the old one still read it.
  CHECK(old.load<std::vector<float>>("layers/0/w").value() == values(1));
  save(of, 3).value();
  CHECK(seen(of).value() == 3);
  CHECK(zp::verify(zp::open(open_fake_place(of)).value()).value().result() == zp::verdict::ok);
}

TEST_CASE_TEMPLATE("buckets: a handle sees what it published itself", kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  const auto store = open_fake_place(of);
  for (float value : {1.0F, 2.0F, 3.0F}) {
    zp::save(store, {{"step", value}}).value();
    CHECK(zp::open(store).value().load<float>("step").value() == value);
  }
}

TEST_CASE_TEMPLATE("buckets: what is there is replaced only where that is asked for", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  const auto again = save(of, 2, false);
  REQUIRE_FALSE(again);
  CHECK(again.failure().code == zp::errc::already_exists);
  CHECK(seen(of).value() == 1);
  of->objects["other/README"] = {"text", "\"e\"", 0};
  const auto store = open_fake_place(of, false, "other");
  const auto over = zp::save(store, {{"step", 1.0F}});
  REQUIRE_FALSE(over);
  CHECK(over.failure().code == zp::errc::already_exists);
}

TEST_CASE_TEMPLATE("buckets: the objects of the first checkpoint are those of every Zarr hierarchy",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  // Without what is ours, it is a hierarchy as another program would have copied it there.
  std::erase_if(of->objects, [](const auto& one) {
    return one.first.find("/.zarrpoint/") != std::string::npos;
  });
  CHECK(seen(of).value() == 1);
  save(of, 2).value();
  CHECK(seen(of).value() == 2);
}

TEST_CASE_TEMPLATE("buckets: a save that fails leaves nothing, of the first one and of a later one",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  for (const bool is_first : {true, false}) {
    CAPTURE(is_first);
    const fake_s3 of;
    if (!is_first) save(of, 1).value();
    const auto before = of.keys();
    of->instead = [](const std::string& what) -> zp::http_response {
      if (!what.starts_with("PUT ") || what.find("step/zarr.json") == std::string::npos) return {};
      return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
    };
    CHECK_FALSE(save(of, 2));
    of->instead = {};
    CHECK(of.keys() == before);
    CHECK(seen(of).value() == (is_first ? std::optional<float>() : std::optional(1.0F)));
    save(of, 3).value();
    CHECK(seen(of).value() == 3);
  }
}

TEST_CASE_TEMPLATE(
    "buckets: a server that ignores conditions is unsupported, unless there is one writer", kind,
    s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  of->rules.conditions = false;
  const auto refused = save(of, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == zp::errc::unsupported);
  CHECK(refused.failure().message.find("single_writer") != std::string::npos);
  CHECK(of.keys().empty());
  for (float value : {1.0F, 2.0F}) {
    zp::save(open_fake_place(of, true), {{"layers/0/w", values(value)}, {"step", value}}).value();
    CHECK(seen(of).value() == value);
  }
}

TEST_CASE_TEMPLATE("buckets: puts that are refused for being at once are put one after the other",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  for (const bool has_conditions : {true, false}) {
    CAPTURE(has_conditions);
    const fake_s3 of;
    of->rules.conditions = has_conditions;
    std::mutex mutex;
    int puts = 0;
    of->instead = [&](const std::string& what) -> zp::http_response {
      if (!what.starts_with("PUT ") || !what.ends_with("/first")) return {};
      const std::lock_guard lock(mutex);
      if (++puts > 3 || puts == 1) return {};
      return {.status = 409, .headers = {}, .text = "<Error><Code>Conflict</Code></Error>"};
    };
    const auto saved = save(of, 1);
    if (has_conditions) {
      saved.value();
      CHECK(seen(of).value() == 1);
      CHECK(of->objects.contains("model.zarr/zarr.json"));
    } else {  // which shows by the puts one after the other
      REQUIRE_FALSE(saved);
      CHECK(saved.failure().code == zp::errc::unsupported);
      CHECK(of.keys().empty());
    }
  }
}

TEST_CASE_TEMPLATE("buckets: a server that ignores conditions keeps the claim of another save",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  of->rules.conditions = false;
  auto first = open_fake_place(of, true).stage(zp::store_key::root(), {.overwrite = true}).value();
  const std::string claim = of->objects["model.zarr/.zarrpoint/first"].bytes;
  const auto refused = save(of, 2);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == zp::errc::unsupported);
  CHECK(of->objects["model.zarr/.zarrpoint/first"].bytes == claim);
  first->store().put(key("zarr.json"), {}).value();
  first->commit().value();
}

TEST_CASE("s3: the claim of a server that gives ETags in two forms is found by reading it") {
  const fake_s3 of;
  auto mine = open_fake_place(of).stage(zp::store_key::root(), {.overwrite = true}).value();
  // As if the put had told another one.
  of->objects["model.zarr/.zarrpoint/first"].etag = "\"another\"";
  mine->store().put(key("zarr.json"), {}).value();
  mine->commit().value();
  CHECK(of->objects.contains("model.zarr/.zarrpoint/current"));
}

TEST_CASE_TEMPLATE("buckets: a claim whose list is lost and not to be read fails the save", kind,
                   s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  auto mine = open_fake_place(of).stage(zp::store_key::root(), {.overwrite = true}).value();
  mine->store().put(key("zarr.json"), {}).value();
  bool is_down = true;
  of->is_lost = [&](const std::string& what) { return is_down && what.ends_with("/first"); };
  const auto done = mine->commit();
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == zp::errc::unavailable);
  is_down = false;
  mine.reset();
  CHECK(of.keys().empty());
}

TEST_CASE_TEMPLATE("buckets: a first save asks for no more than its claim, its keys and its name",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  const auto count = [&](const char* begin, const char* end) {
    return std::count_if(of->log.begin(), of->log.end(), [&](const std::string& one) {
      return one.starts_with(begin) && one.ends_with(end);
    });
  };
  // Three puts of which one goes well, and one in its place.
  CHECK(count("PUT ", "/.zarrpoint/first") == 4);
  CHECK(count("PUT ", "/.zarrpoint/current") == 1);
  CHECK(count("DELETE ", "") == 0);
  CHECK(count("PUT ", "probe") == 0);
  of->log.clear();
  save(of, 2).value();
  CHECK(count("PUT ", "probe") == 3);
  CHECK(count("DELETE ", "probe") == 1);
  CHECK(count("PUT ", "/.zarrpoint/first") == 0);
  const auto keys = of.keys();
  CHECK(std::none_of(keys.begin(), keys.end(),
                     [](const std::string& one) { return one.ends_with("/probe"); }));
}

TEST_CASE_TEMPLATE("buckets: who may not erase still saves", kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  of->instead = [](const std::string& what) -> zp::http_response {
    if (!what.starts_with("DELETE ")) return {};
    return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
  };
  for (float value : {1.0F, 2.0F}) {
    save(of, value).value();
    CHECK(seen(of).value() == value);
  }
}

TEST_CASE("s3: a server that takes ETags without quotation marks only") {
  const fake_s3 of;
  of->rules.quoted_etags = false;
  save(of, 1).value();
  save(of, 2).value();
  CHECK(seen(of).value() == 2);
}

TEST_CASE_TEMPLATE(
    "buckets: what a killed save left is not in the way, and is removed when it is old", kind, s3,
    gcs, gcs_xml) {
  const kind of_kind;
  for (const bool is_first : {true, false}) {
    CAPTURE(is_first);
    const fake_s3 of;
    if (!is_first) save(of, 1).value();
    std::map<std::string, fake_s3::object> killed;
    of->before = [&](const std::string& what) {
      // The commit would come now.
      if (what.find("/current") != std::string::npos && what.starts_with("PUT "))
        killed = of->objects;
    };
    save(of, 7).value();
    of->before = {};
    of->objects = killed;
    // It is as if nothing was there.
    if (is_first) {
      CHECK(open_fake_place(of).list(zp::store_key::root()).value().empty());
    } else {
      CHECK(seen(of).value() == 1);
    }
    save(of, 2).value();
    CHECK(seen(of).value() == 2);
    of->now += 90000;
    save(of, 3).value();
    of->now += 90000;
    save(of, 4).value();
    CHECK(seen(of).value() == 4);
    // This one and the one before it; nothing at the plain keys.
    std::vector<std::string> trees;
    for (const std::string& one : of.keys()) {
      const std::string place = "model.zarr/.zarrpoint/";
      CAPTURE(one);
      REQUIRE(one.starts_with(place));
      const std::size_t end = one.find('/', place.size());
      if (end == one.npos) continue;
      if (trees.empty() || trees.back() != one.substr(0, end)) trees.push_back(one.substr(0, end));
    }
    CHECK(trees.size() == 2);
  }
}

TEST_CASE_TEMPLATE(
    "buckets: a place that is saved to every hour has what was replaced within a day", kind, s3,
    gcs, gcs_xml) {
  const kind of_kind;
  for (const bool is_marked : {true, false}) {
    CAPTURE(is_marked);
    const fake_s3 of;
    const std::string place = "model.zarr/.zarrpoint/";
    const auto is_mark = [&](const std::string& what) {
      const std::size_t at = what.find(place);
      return at != what.npos && what.find('/', at + place.size()) == what.npos &&
             what.find('.', at + place.size()) != what.npos;
    };
    const auto count = [&](bool marks) {
      std::set<std::string> found;
      for (const std::string& key : of.keys()) {
        const std::size_t end = key.find('/', place.size());
        if (is_mark(key) ? marks : !marks && end != key.npos) found.insert(key.substr(0, end));
      }
      return found.size();
    };
    save(of, 0).value();
    std::optional<decltype(zp::open(open_fake_place(of)).value())> old;
    for (int hour = 1; hour <= 60; ++hour) {
      of->now += 3600;
      // For ten hours nobody may say since when.
      if (!is_marked && hour >= 10 && hour < 20) {
        of->instead = [&](const std::string& what) -> zp::http_response {
          if (!what.starts_with("PUT ") || !is_mark(what)) return {};
          return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
        };
      } else {
        of->instead = {};
      }
      save(of, static_cast<float>(hour)).value();
      if (hour == 30) old = zp::open(open_fake_place(of)).value();
      // It was replaced an hour later.
      if (hour == 54) {
        CHECK(old->template load<std::vector<float>>("layers/0/w").value() == values(30));
      }
      CHECK(count(false) <= (is_marked ? 27 : 37));
    }
    CHECK(count(false) == 26);  // 24 that were replaced within a day, that before, and this one
    CHECK(count(true) <= 26);
    CHECK_FALSE(has_prefix(of, "model.zarr/layers/"));
    CHECK(seen(of).value() == 60);
    of->now += 90000;
    save(of, 61).value();
    CHECK(count(false) == 2);
  }
}

TEST_CASE_TEMPLATE(
    "buckets: of a look that is cut short nothing is thought to be replaced for long", kind, s3,
    gcs, gcs_xml) {
  const kind of_kind;
  for (const char* const cut : {"marks ", "before ", "save "}) {
    CAPTURE(cut);
    const fake_s3 of;
    for (float value : {0.0F, 1.0F, 2.0F}) {
      save(of, value).value();
      of->now += 2 * 86400;
    }
    const auto old = zp::open(open_fake_place(of)).value();
    save(of, 3).value();  // it is replaced now
    of->now += 3600;
    auto& current = of->objects["model.zarr/.zarrpoint/current"];
    const std::string whole = current.bytes;
    current.bytes.resize(whole.find(cut) + std::string_view(cut).size() + 1);
    of->before = [&](const std::string& what) {  // as the server has it
      if (what.starts_with("PUT ")) of->objects["model.zarr/.zarrpoint/current"].bytes = whole;
    };
    save(of, 4).value();
    of->before = {};
    CHECK(seen(of).value() == 4);
    CHECK(old.template load<std::vector<float>>("layers/0/w").value() == values(2));
  }
}

TEST_CASE_TEMPLATE("buckets: what cannot be removed does not keep the rest", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  for (int i = 0; i < 50; ++i) {
    save(of, static_cast<float>(i)).value();
    of->now += 60;
  }
  std::string held;  // one of the first trees
  for (const std::string& key : of.keys())
    if (held.empty() && key.ends_with("/step/zarr.json")) held = key;
  of->instead = [&](const std::string& what) -> zp::http_response {
    if (what != "DELETE " + held) return {};
    return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
  };
  of->now += 90000;
  // Not all at once.
  std::size_t most = 0, warned = 0;
  for (float value : {51.0F, 52.0F, 53.0F}) {
    of->now += 60;
    const std::size_t before = of.keys().size();
    const auto saved = save(of, value).value();
    warned += saved.warnings.size();
    most = std::max(most, before - std::min(before, of.keys().size()));
  }
  CHECK(warned > 0);
  CHECK(most < 33 * 9);
  std::set<std::string> trees;
  for (const std::string& key : of.keys()) {
    const std::size_t end = key.find('/', std::string_view("model.zarr/.zarrpoint/").size());
    if (end != key.npos) trees.insert(key.substr(0, end));
  }
  CHECK(trees.size() == 5);  // those of the last three saves and the one before, and that one
  CHECK(of->objects.contains(held));
  CHECK(seen(of).value() == 53);
}

TEST_CASE_TEMPLATE("buckets: what others put at the plain keys stays", kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  of->objects["model.zarr/README"] = {"text", "\"e\"", of->now};
  for (float value : {2.0F, 3.0F, 4.0F}) {
    of->now += 90000;
    save(of, value).value();
  }
  CHECK(seen(of).value() == 4);
  CHECK_FALSE(has_prefix(of, "model.zarr/layers/"));
  CHECK_FALSE(has_prefix(of, "model.zarr/zarr.json"));
  CHECK(has_prefix(of, "model.zarr/README"));
}

TEST_CASE_TEMPLATE("buckets: a damaged name of the current checkpoint is an error", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  for (const char* text :
       {"", "zarrpoint 1\n", "zarrpoint 1\ntree .", "zarrpoint 1\ntree ../x/\n",
        "zarrpoint 2\ntree .\n", "zarrpoint 1\ntree .zarrpoint/a/../../b/\n", "<html>"}) {
    CAPTURE(text);
    of->objects["model.zarr/.zarrpoint/current"].bytes = text;
    const auto opened = zp::open(open_fake_place(of));
    REQUIRE_FALSE(opened);
    CHECK(opened.failure().code == zp::errc::corrupt);
  }
}

TEST_CASE_TEMPLATE("buckets: several things of one store are not published one by one", kind, s3,
                   gcs, gcs_xml) {
  const kind of_kind;
  const auto done = zp::save(zp::location(open_fake_place(fake_s3()), key("a")), {{"step", 1.0F}});
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == zp::errc::unsupported);
}

TEST_CASE_TEMPLATE("buckets: several processes write into one tree, which one of them publishes",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  constexpr int world = 3;
  const fake_s3 of;
  const auto save_all = [&](float value) {
    return zp::thread_world::run(world, [&](const zp::thread_communicator& self) {
      // Each has a store of its own, as a process has.
      std::vector<float> mine(8, value + static_cast<float>(self.rank()));
      return zp::save(
          open_fake_place(of),
          zp::state{{"step", 7},
                    {"w", zp::shard("w", mine, {.offsets = {{0, self.rank(), world}}}).value()}},
          zp::process_group{.ranks = self});
    });
  };
  for (const auto& one : save_all(1)) REQUIRE(one);
  CHECK_FALSE(has_prefix(of, "model.zarr/w/"));
  const auto old = zp::open(open_fake_place(of)).value();
  for (const auto& one : save_all(5)) REQUIRE(one);
  std::vector<float> wanted(24);
  for (std::size_t i = 0; i < 24; ++i) wanted[i] = 5 + static_cast<float>(i / 8);
  CHECK(zp::open(open_fake_place(of)).value().load<std::vector<float>>("w").value() == wanted);
  CHECK(old.load<std::vector<float>>("w").value()[0] == 1);
}

TEST_CASE_TEMPLATE("buckets: a lost answer to the last put is resolved by reading", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  for (const bool is_done : {true, false}) {
    for (const bool can_read : {true, false}) {
      CAPTURE(is_done);
      CAPTURE(can_read);
      const fake_s3 of;
      save(of, 1).value();
      bool is_over = false;
      of->instead = [&](const std::string& what) -> zp::http_response {
        const bool is_commit = what.starts_with("PUT ") && what.ends_with("/current");
        if (is_over && !can_read) return {.status = 500, .headers = {}};
        if (is_commit && !is_done) {
          is_over = true;
          return {.status = 500, .headers = {}};
        }
        return {};
      };
      of->is_lost = [&](const std::string& what) {
        const bool is_commit = what.starts_with("PUT ") && what.ends_with("/current");
        is_over |= is_commit;
        return is_commit;
      };
      const auto saved = save(of, 2);
      of->instead = {};
      of->is_lost = {};
      if (is_done && can_read) {
        CHECK(saved);
      } else {
        REQUIRE_FALSE(saved);
        CHECK(saved.failure().code == zp::errc::outcome_unknown);
      }
      CHECK(seen(of).value() == (is_done ? 2 : 1));
    }
  }
}

TEST_CASE_TEMPLATE("buckets: a look that is cut short does not say that another save won", kind, s3,
                   gcs, gcs_xml) {
  const kind of_kind;
  const std::string begin = "zarrpoint 1\ntree .", page = "<html>Welcome to this hotel</html>";
  for (const bool is_first : {true, false}) {
    for (const std::string& text : {begin, std::string(), page}) {
      CAPTURE(is_first);
      CAPTURE(text);
      const fake_s3 of;
      if (!is_first) save(of, 1).value();
      bool loses = true, lies = false;
      of->is_lost = [&](const std::string& what) {
        if (!what.starts_with("PUT ") || !what.ends_with("/current") || !loses) return false;
        loses = false;
        return lies = true;
      };
      of->instead = [&](const std::string& what) -> zp::http_response {
        if (!what.starts_with("GET ") || !what.ends_with("/current") || !lies) return {};
        lies = false;
        zp::http_response out{.status = 200, .headers = {}, .text = text};
        if (text != page) out.headers = {{"ETag", "\"x\""}, {"x-goog-generation", "9"}};
        return out;
      };
      save(of, 2).value();
      CHECK_FALSE(loses);
      CHECK_FALSE(lies);
      CHECK(seen(of).value() == 2);
    }
  }
}

TEST_CASE_TEMPLATE("buckets: what is said after a lost answer is not taken for its outcome", kind,
                   s3, gcs, gcs_xml) {
  const kind of_kind;
  for (const bool single : {true, false}) {
    CAPTURE(single);
    const fake_s3 of;
    of->rules.conditions = !single;
    const auto save_it = [&](float value) {
      return zp::save(open_fake_place(of, single),
                      {{"layers/0/w", values(value)}, {"step", value}});
    };
    save_it(1).value();
    int commits = 0;
    const auto is_commit = [](const std::string& what) {
      return what.starts_with("PUT ") && what.ends_with("/current");
    };
    // It was done; the next attempt is refused.
    of->instead = [&](const std::string& what) -> zp::http_response {
      if (!is_commit(what) || commits++ == 0) return {};
      return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
    };
    of->is_lost = is_commit;
    CHECK(save_it(2));
    of->instead = {};
    of->is_lost = {};
    CHECK(seen(of).value() == 2);
    // All answers are lost.
    of->is_lost = is_commit;
    CHECK(save_it(3));
    of->is_lost = {};
    CHECK(seen(of).value() == 3);
    // Where `current` cannot be read, nobody knows.
    commits = 0;
    of->is_lost = [&](const std::string& what) { return is_commit(what) && commits++ == 0; };
    of->instead = [&](const std::string& what) -> zp::http_response {
      if (commits == 0 || !what.starts_with("GET ") || !what.ends_with("/current")) return {};
      return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
    };
    const auto unknown = save_it(4);
    of->instead = {};
    of->is_lost = {};
    CHECK((single || !unknown));
    if (!unknown) CHECK(unknown.failure().code == zp::errc::outcome_unknown);
    CHECK(seen(of).value() == 4);
  }
}

TEST_CASE_TEMPLATE("buckets: a page of a proxy is not the answer to a put", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  for (const char* end : {"/current", "/w/zarr.json"}) {
    CAPTURE(end);
    const fake_s3 of;
    save(of, 1).value();
    of->instead = [&](const std::string& what) -> zp::http_response {
      if (!what.starts_with("PUT ") || !what.ends_with(end)) return {};
      return {.status = 200, .headers = {}, .text = "<html>Welcome</html>"};
    };
    const auto done = save(of, 2);
    of->instead = {};
    REQUIRE_FALSE(done);
    CHECK(done.failure().message.find("not of a store of objects") != std::string::npos);
    CHECK(seen(of).value() == 1);
  }
}

TEST_CASE_TEMPLATE("buckets: a login that is refused is not an empty place", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  save(of, 2).value();
  of->instead = [](const std::string& what) -> zp::http_response {
    if (!what.ends_with("/current")) return {};
    return {.status = 403, .headers = {}, .text = "<Error><Code>ExpiredToken</Code></Error>"};
  };
  CHECK_FALSE(seen(of));
}

TEST_CASE_TEMPLATE("buckets: a first save whose place was erased leaves that of another one alone",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  auto slow = open_fake_place(of).stage(zp::store_key::root(), {.overwrite = true}).value();
  slow->store().put(key("step/zarr.json"), {}).value();
  slow->store().put(key("zarr.json"), {}).value();
  open_fake_place(of).erase_all(zp::store_key::root()).value();
  save(of, 2).value();
  const std::string of_another = of->objects["model.zarr/step/zarr.json"].bytes;
  const auto done = slow->commit();
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == zp::errc::replaced);
  slow.reset();
  CHECK(of->objects["model.zarr/step/zarr.json"].bytes == of_another);
  CHECK(seen(of).value() == 2);
  CHECK(of->objects.contains("model.zarr/.zarrpoint/first"));
}

TEST_CASE_TEMPLATE("buckets: a save that fails leaves what others put at its keys", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  auto mine = open_fake_place(of).stage(zp::store_key::root(), {.overwrite = true}).value();
  mine->store().put(key("step/zarr.json"), {}).value();
  mine->store().put(key("w/zarr.json"), {}).value();
  of->objects["model.zarr/step/zarr.json"] = {"of another", "\"e\"", of->now};
  mine.reset();
  CHECK(of.keys() == std::vector<std::string>{"model.zarr/step/zarr.json"});
}

TEST_CASE_TEMPLATE("buckets: a document that cannot be put with others is named", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  auto mine = open_fake_place(of).stage(zp::store_key::root(), {.overwrite = true}).value();
  of->instead = [](const std::string& what) -> zp::http_response {
    if (what.find("b/zarr.json") == std::string::npos) return {};
    return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
  };
  const std::vector<std::byte> large(300'000);
  for (const char* name : {"a/zarr.json", "b/zarr.json", "c/zarr.json"})
    mine->store().put(key(name), large).value();
  const auto put = mine->store().put(key("d/zarr.json"), large);
  REQUIRE_FALSE(put);
  CAPTURE(put.failure().message);
  CHECK(put.failure().message.starts_with("documents of several keys"));
  CHECK(put.failure().message.find("model.zarr/b/zarr.json") != std::string::npos);
  CHECK(put.failure().message.find("d/zarr.json") == std::string::npos);
}

TEST_CASE_TEMPLATE("buckets: documents are put before the commit, where they are many", kind, s3,
                   gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  auto mine = open_fake_place(of).stage(zp::store_key::root(), {.overwrite = true}).value();
  const auto put = [&](int i) {
    mine->store().put(key("g" + std::to_string(i) + "/zarr.json"), {}).value();
  };
  for (int i = 0; i < 30; ++i) put(i);
  CHECK_FALSE(has_prefix(of, "model.zarr/g"));
  for (int i = 30; i < 40; ++i) put(i);
  CHECK(has_prefix(of, "model.zarr/g0/"));
  CHECK_FALSE(has_prefix(of, "model.zarr/g39/"));
  mine->store().put(key("zarr.json"), {}).value();
  CHECK_FALSE(has_prefix(of, "model.zarr/zarr.json"));
  mine->commit().value();
  CHECK(has_prefix(of, "model.zarr/g39/"));
  CHECK(has_prefix(of, "model.zarr/zarr.json"));
}

TEST_CASE_TEMPLATE("buckets: what makes it a checkpoint is erased before the rest is listed", kind,
                   s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  save(of, 1).value();
  of->log.clear();
  CHECK(open_fake_place(of).erase_all(zp::store_key::root()).value());
  CHECK(of.keys().empty());
  const auto at = [&](const std::string& what) {
    return std::find_if(of->log.begin(), of->log.end(),
                        [&](const std::string& one) { return one.starts_with(what); });
  };
  CHECK(at("DELETE model.zarr/.zarrpoint/current") < at("DELETE model.zarr/zarr.json"));
  CHECK(at("DELETE model.zarr/zarr.json") < at("GET ?"));
  CHECK(at("GET ?") != of->log.end());
  CHECK_FALSE(open_fake_place(of).erase_all(zp::store_key::root()).value());
}

TEST_CASE_TEMPLATE("buckets: what was seen of a place counts until something is changed there",
                   kind, s3, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  of->objects["model.zarr/notes"] = {"of another", "\"e\"", of->now};
  const zp::any_store place = [&] {
    auto store = open_fake_place(of);
    store.expect_save();
    return zp::any_store(store);
  }();
  CHECK(place.open(key("zarr.json")).value() == nullptr);
  CHECK(place.list(zp::store_key::root()).value().size() == 1);
  const std::size_t asked = of->log.size();
  CHECK(place.open(key(".zattrs")).value() == nullptr);
  CHECK(place.list(zp::store_key::root()).value().size() == 1);
  CHECK(of->log.size() == asked);  // that is known
  CHECK(place.open(key("notes")).value() != nullptr);
  place.put(key(".zattrs"), {}).value();
  CHECK(place.open(key(".zattrs")).value() != nullptr);
  CHECK(place.list(zp::store_key::root()).value().size() == 2);
}

TEST_CASE("s3: a save by a URL waits for several puts at once, whatever threads there are") {
  const fake_s3& of = url_access::server;
  std::mutex mutex;
  std::condition_variable changed;
  int now = 0, most = 0;
  bool waits = true;
  of->before = [&](const std::string& what) {
    if (!what.starts_with("PUT ") || what.find("/c") == what.npos) return;
    std::unique_lock lock(mutex);
    most = std::max(most, ++now);
    changed.notify_all();
    waits = waits && changed.wait_for(lock, std::chrono::seconds(20), [&] { return most > 1; });
    --now;
  };
  const std::vector<float> w(200'000, 1);
  const zp::thread_pool one(1);
  zp::save("s3://bucket/model.zarr", {{"a", w}, {"b", w}, {"c", w}, {"d", w}}, {},
           {.executor = one.executor(), .stores = zp::formats<zp::s3_scheme_by<url_access>>()})
      .value();
  of->before = {};
  CHECK(most > 1);
}

// Two writers and a reader, over every interleaving of their steps, with each answer of the last
// put lost or not: what is there is old or new and whole, one writer wins, and the other is told.
TEST_CASE_TEMPLATE("buckets: a model of two writers, a reader and lost answers", kind, s3, gcs,
                   gcs_xml) {
  const kind of_kind;
  for (const bool is_first : {true, false}) {
    // A writer's steps: it stages, writes, commits. The order of six steps of two writers.
    std::vector<int> order = {0, 0, 0, 1, 1, 1};
    do {
      for (int lost = 0; lost < 4; ++lost) {
        const fake_s3 of;
        if (!is_first) save(of, 1).value();
        const std::optional<float> old = is_first ? std::nullopt : std::optional(1.0F);
        struct writer {
          std::unique_ptr<zp::publication> tree{};
          zp::result<void> outcome{};
          int step = 0;
          bool is_lost = false;
        };
        writer both[2];
        both[0].is_lost = (lost & 1) != 0;
        both[1].is_lost = (lost & 2) != 0;
        std::optional<float> now = old;
        for (const int who : order) {
          writer& one = both[who];
          const float value = 10.0F + static_cast<float>(who);
          bool loses = one.is_lost;  // the first answer
          of->is_lost = [&](const std::string& what) {
            return what.starts_with("PUT ") && what.ends_with("/current") &&
                   std::exchange(loses, false);
          };
          if (one.step == 0) {
            auto staged = open_fake_place(of).stage(zp::store_key::root(), {.overwrite = true});
            REQUIRE(staged);
            one.tree = std::move(*staged);
          } else if (one.step == 1) {
            // Its own hierarchy, as a save writes it, into the tree.
            zp::memory_store made;
            zp::save(made, {{"layers/0/w", values(value)}, {"step", value}}).value();
            const zp::any_store to = one.tree->store();
            const std::function<void(const zp::store_key&)> copy = [&](const zp::store_key& at) {
              for (const auto& entry : made.list(at).value()) {
                const auto next = at.child(entry.name).value();
                if (entry.is_prefix) copy(next);
                if (const auto bytes = zp::get(made, next, 1 << 24).value())
                  to.put(next, *bytes).value();
              }
            };
            copy(zp::store_key::root());
          } else {
            one.outcome = one.tree->commit();
            one.tree.reset();
            if (one.outcome) {
              now = value;
            } else {
              CHECK(one.outcome.failure().code == zp::errc::replaced);
            }
          }
          ++one.step;
          of->is_lost = {};
          const auto read = seen(of);
          REQUIRE(read);
          // A first checkpoint that is not published yet is not seen.
          REQUIRE(*read == now);
        }
        // Those who staged before the other published are told.
        const bool first_won = static_cast<bool>(both[0].outcome);
        const bool second_won = static_cast<bool>(both[1].outcome);
        CHECK((first_won || second_won));
        const bool in_turn = order == std::vector<int>{0, 0, 0, 1, 1, 1} ||
                             order == std::vector<int>{1, 1, 1, 0, 0, 0};
        CHECK((first_won && second_won) == in_turn);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

}  // namespace s3_publish_tests
