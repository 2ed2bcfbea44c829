// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/delta.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace delta_test {

namespace zp = zarrpoint;

namespace {

using words = std::vector<std::uint16_t>;

words random_words(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  words out(count);
  for (std::uint16_t& one : out) one = static_cast<std::uint16_t>(random());
  return out;
}

words stepped(words of, double share, unsigned seed) {
  std::mt19937 random(seed);
  for (std::uint16_t& one : of) {
    if (std::uniform_real_distribution<>()(random) < share)
      one = static_cast<std::uint16_t>(one + random() % 5 - 2);
  }
  return of;
}

constexpr std::size_t many = 1'300'000;  // of 16 bits: three inner chunks, the last one padded

std::uintmax_t bytes_of(const std::string& folder) {
  std::uintmax_t out = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) out += entry.file_size();
  return out;
}

/// A base, and what it became, with leaves that stay, change, come and go.
struct series {
  test::temp_directory at;
  words w0 = random_words(many, 1);
  words w1 = stepped(w0, 0.01, 2);
  words w2 = stepped(w1, 0.02, 3);
  words same = random_words(5000, 4);
  std::vector<float> small{1, 2, 3};
  std::vector<float> other{1, 2, 4};
  std::string base = (at / "base");
  std::string first = (at / "first");
  std::string second = (at / "second");

  series() {
    REQUIRE(zp::save(base, {{"layers/w", w0}, {"same", same}, {"small", small}, {"old", 1.5}}));
    REQUIRE(zp::save_delta(first, base,
                           {{"layers/w", w1}, {"same", same}, {"small", other}, {"fresh", 7}},
                           {.attributes = zp::json::object{{"step", 1}}}));
    REQUIRE(zp::save_delta(second, first,
                           {{"layers/w", w2}, {"same", same}, {"small", other}, {"fresh", 7}}));
  }
};

void check_first(const zp::checkpoint& found, const series& of) {
  CHECK(found.names() == std::vector<std::string>{"fresh", "layers/w", "same", "small"});
  CHECK(found.load<words>("layers/w").value() == of.w1);
  CHECK(found.load<words>("same").value() == of.same);
  CHECK(found.load<std::vector<float>>("small").value() == of.other);
  CHECK(found.load<int>("fresh").value() == 7);
}

void flip(const std::string& file, std::size_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const int byte = stream.get();
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(static_cast<char>(byte ^ 1));
  REQUIRE(stream.good());
}

}  // namespace

TEST_CASE("delta: opens on its base as a checkpoint like any other") {
  const series of;
  CHECK(bytes_of(of.first) < bytes_of(of.base) / 20);
  const auto found = zp::open_delta(of.first).value();
  check_first(found, of);
  CHECK(found.attributes().find("step")->to_int64() == 1);
  CHECK(found.metadata("layers/w")->codecs == zp::raw_codecs());

  const zp::verify_report report = zp::verify(found).value();
  CHECK(report.result() == zp::verdict::ok);
  CHECK(report.failure_count == 0);

  words part(1000);
  CHECK(found.load_into("layers/w", zp::box({524'000}, {1000}), part));
  CHECK(part == words(of.w1.begin() + 524'000, of.w1.begin() + 525'000));
  const auto view = found.view<std::uint16_t>("same").value();
  CHECK(std::memcmp(view.data(), of.same.data(), 2 * of.same.size()) == 0);
}

TEST_CASE("delta: deltas on deltas, in one table of formats with all others") {
  const series of;
  const auto found = zp::open(of.second, zp::formats<zp::delta::format>()).value();
  CHECK(found.load<words>("layers/w").value() == of.w2);
  CHECK(found.load<int>("fresh").value() == 7);
  CHECK(zp::verify(found)->result() == zp::verdict::ok);
  CHECK(zp::open(of.base, zp::formats<zp::delta::format>())->load<words>("layers/w").value() ==
        of.w0);
}

TEST_CASE("delta: without its door an error says what it is") {
  const series of;
  const auto found = zp::open(of.first);
  REQUIRE(!found);
  CHECK(found.failure().code == zp::errc::unsupported);
  CHECK(found.failure().message.find("<zarrpoint/delta.hpp>") != std::string::npos);
}

TEST_CASE("delta: random dtypes, shapes and chunks come back") {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const test::temp_directory at;
    constexpr zp::dtype_kind kinds[] = {
        zp::dtype_kind::bool_,      zp::dtype_kind::int8,    zp::dtype_kind::bfloat16,
        zp::dtype_kind::float32,    zp::dtype_kind::float64, zp::dtype_kind::complex64,
        zp::dtype_kind::complex128, zp::dtype_kind::uint64,  zp::dtype_kind::float8_e4m3fn};
    const zp::dtype type = kinds[random() % std::size(kinds)];
    zp::dims shape(random() % 4, 0);
    zp::dims chunk(shape.rank(), 1);
    zp::dims shard(shape.rank(), 1);
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      shape[d] = static_cast<zp::index_t>(random() % 40);
      chunk[d] = static_cast<zp::index_t>(1 + random() % 9);
      shard[d] = chunk[d] * static_cast<zp::index_t>(1 + random() % 4);
    }
    zp::tensor before = zp::tensor::make({type, shape}).value();
    const zp::mutable_host_view elements = before.mutable_view();
    const std::size_t size = zp::byte_count(before.spec()).value();
    for (std::size_t i = 0; i < size; ++i)
      elements.data[i] =
          static_cast<std::byte>(type == zp::dtype_kind::bool_ ? random() & 1 : random());
    zp::tensor after = zp::tensor::make({type, shape}).value();
    std::memcpy(after.mutable_view().data, elements.data, size);
    for (std::size_t i = 0; i < size; ++i)
      if (random() % 20 == 0) after.mutable_view().data[i] ^= std::byte{1};
    zp::save_options options;
    if (random() % 2 == 0) options.rules.push_back({.chunk_shape = chunk, .shard_shape = shard});
    zp::save_options of_base = options;
    if (random() % 2 == 0) of_base.rules.push_back({.codecs = zp::blosc_codecs(1)});
    REQUIRE(zp::save((at / "base"), {{"t", before}}, of_base));
    REQUIRE(zp::save_delta((at / "delta"), (at / "base"), {{"t", after}}, options));
    const auto found = zp::open_delta((at / "delta"));
    REQUIRE(found);
    const zp::tensor loaded = found->load<zp::tensor>("t").value();
    REQUIRE(loaded.spec() == after.spec());
    CHECK(std::memcmp(loaded.view().data, after.view().data, size) == 0);
    const zp::verify_report report = zp::verify(*found).value();
    CHECK(report.failure_count == 0);
    // And in place, of memory that has what the base has.
    REQUIRE(zp::apply_delta((at / "delta"), {{"t", before}}));
    CHECK(std::memcmp(before.view().data, after.view().data, size) == 0);
  }
}

TEST_CASE("delta: of what did not change nothing is stored") {
  const series of;
  const std::string same = (of.at / "same");
  const auto report = zp::save_delta(
      same, of.base, {{"layers/w", of.w0}, {"same", of.same}, {"small", of.small}, {"old", 1.5}});
  REQUIRE(report);
  CHECK(report->stored_bytes == 0);
  CHECK(bytes_of(same) < 2000);
  CHECK(zp::open_delta(same)->load<words>("layers/w").value() == of.w0);
}

TEST_CASE("delta: another base is refused, and a missing one named") {
  const series of;
  const std::string wrong = (of.at / "wrong");
  REQUIRE(
      zp::save(wrong, {{"layers/w", of.w0}, {"same", of.same}, {"small", of.small}, {"old", 1.5}}));
  const auto found = zp::open_delta(of.first, {.base = wrong});
  REQUIRE(!found);
  CHECK(found.failure().code == zp::errc::invalid_argument);
  CHECK(found.failure().message.find(zp::open(of.base)->id()) != std::string::npos);

  const std::string id = zp::open(of.base)->id();
  std::filesystem::rename(of.base, (of.at / "moved"));
  const auto missing = zp::open_delta(of.first);
  REQUIRE(!missing);
  CHECK(missing.failure().code == zp::errc::not_found);
  CHECK(missing.failure().message.find(id) != std::string::npos);
  CHECK(missing.failure().message.find(of.base) != std::string::npos);
  check_first(zp::open_delta(of.first, {.base = (of.at / "moved")}).value(), of);
}

TEST_CASE("delta: a base whose elements are others is an error of the chunk") {
  const series of;
  // The document stays, and with it the id.
  flip(of.base + "/layers/w/c.0", 2'000'001);
  const auto found = zp::open_delta(of.first).value();
  const auto loaded = found.load<words>("layers/w");
  REQUIRE(!loaded);
  CHECK(loaded.failure().code == zp::errc::corrupt);
  CHECK(zp::verify(found)->result() == zp::verdict::faulty);
  CHECK(!zp::apply_deltas((of.at / "whole"), {of.base, {of.first}}));
  CHECK(!std::filesystem::exists((of.at / "whole")));
}

TEST_CASE("delta: damage to its bytes is found") {
  const series of;
  const std::string file = of.first + "/layers/w/c.0";
  const auto size = std::filesystem::file_size(file);
  for (const std::size_t at : {std::size_t{3}, std::size_t{size / 2}, std::size_t{size - 30}}) {
    flip(file, at);
    const auto loaded = zp::open_delta(of.first)->load<words>("layers/w");
    REQUIRE(!loaded);
    CHECK(loaded.failure().code == zp::errc::corrupt);
    words mine = of.w0;
    CHECK(!zp::apply_delta(of.first, {{"layers/w", mine}}));
    CHECK(mine == of.w0);
    flip(file, at);
  }
  const auto text = std::filesystem::file_size(of.first + "/zarr.json");
  for (std::size_t at = 0; at < text; at += 7) {
    flip(of.first + "/zarr.json", at);
    const auto opened = zp::open_delta(of.first);
    if (opened && opened->load<words>("layers/w"))
      FAIL_CHECK("byte " << at << " of the document was not missed");
    flip(of.first + "/zarr.json", at);
  }
  check_first(zp::open_delta(of.first).value(), of);
}

TEST_CASE("delta: a chain that leads back, leaves the place, or is too long is refused") {
  const series of;
  const std::string outer = (of.at / "sub");
  std::filesystem::create_directory(outer);
  std::filesystem::rename(of.first, outer + "/first");
  const auto lost = zp::open_delta(outer + "/first");
  REQUIRE(!lost);
  CHECK(lost.failure().code == zp::errc::not_found);

  const std::string away = outer + "/away";
  REQUIRE(zp::save(away, {{"small", of.other}},
                   {.format = zp::delta::format{.base = of.base, .path = "../base"}}));
  const auto outside = zp::open_delta(away);
  REQUIRE(!outside);
  CHECK(outside.failure().code == zp::errc::invalid_argument);
  CHECK(zp::open_delta(away, {.outside = true})->load<std::vector<float>>("small").value() ==
        of.other);

  std::filesystem::create_directory_symlink((of.at / "base"), outer + "/link");
  REQUIRE(zp::save(outer + "/linked", {{"small", of.other}},
                   {.format = zp::delta::format{.base = of.base, .path = "link"}}));
  CHECK(!zp::open_delta(outer + "/linked"));

  std::filesystem::rename(outer + "/first", of.first);
  CHECK(zp::open_delta(of.second, {.most = 2}));
  const auto deep = zp::open_delta(of.second, {.most = 1});
  REQUIRE(!deep);
  CHECK(deep.failure().code == zp::errc::resource_limit);

  // `first` now says that it stands on `second`, which stands on it.
  std::filesystem::rename(of.base, (of.at / "kept"));
  std::filesystem::copy(of.second, of.base, std::filesystem::copy_options::recursive);
  const auto loop = zp::open_delta(of.second);
  REQUIRE(!loop);
  CHECK(loop.failure().code == zp::errc::corrupt);
  CHECK(loop.failure().message.find("leads back") != std::string::npos);
}

TEST_CASE("delta: applied, it is a whole checkpoint on which the next one stands") {
  const series of;
  const std::string id = zp::open_delta(of.second)->id();
  const std::string whole = (of.at / "whole");
  REQUIRE(zp::apply_deltas(whole, {of.base, {of.first, of.second}}));
  const auto found = zp::open(whole).value();
  CHECK(found.id() == id);
  CHECK(found.load<words>("layers/w").value() == of.w2);
  CHECK(zp::verify(found)->result() == zp::verdict::ok);

  // In place, step by step.
  REQUIRE(zp::apply_deltas(of.base, {of.base, {of.first}}));
  check_first(zp::open(of.base).value(), of);
  REQUIRE(zp::apply_deltas(of.base, {of.base, {of.second}}));
  CHECK(zp::open(of.base)->load<words>("layers/w").value() == of.w2);
  CHECK(!zp::apply_deltas(of.base, {of.base, {of.second}}));
}

TEST_CASE("delta: it replaces nothing that it stands on, and does not stand on itself") {
  const series of;
  const auto refused = [&](const zp::result<zp::save_report>& saved) {
    REQUIRE(!saved);
    CHECK(saved.failure().code == zp::errc::invalid_argument);
  };
  refused(zp::save_delta(of.base, of.base, {{"layers/w", of.w1}}));
  refused(zp::save_delta(of.first, of.first, {{"layers/w", of.w1}}));
  refused(zp::save_delta(of.base, of.second, {{"layers/w", of.w1}}));
  refused(zp::squash_deltas(of.base, {of.base, {of.first, of.second}}));
  refused(zp::save_delta(of.at / "none", {of.base}, zp::open(of.base).value()));
  CHECK(zp::open(of.base)->load<words>("layers/w").value() == of.w0);
  check_first(zp::open_delta(of.first).value(), of);
  // Another delta on the same base may be replaced.
  REQUIRE(zp::save_delta(of.second, of.first, {{"layers/w", of.w2}}));
  CHECK(zp::open_delta(of.second)->load<words>("layers/w").value() == of.w2);
}

TEST_CASE("delta: squashed, it is one on the base, and as good a base") {
  const series of;
  const std::string third = (of.at / "third");
  const words w3 = stepped(of.w2, 0.01, 9);
  REQUIRE(zp::save_delta(third, of.second, {{"layers/w", w3}, {"same", of.same}}));
  const std::string one = (of.at / "one");
  REQUIRE(zp::squash_deltas(one, {of.base, {of.first, of.second}}));
  const auto found = zp::open_delta(one).value();
  CHECK(found.id() == zp::open_delta(of.second)->id());
  CHECK(found.load<words>("layers/w").value() == of.w2);
  CHECK(zp::verify(found)->result() == zp::verdict::ok);
  std::filesystem::remove_all(of.first);
  const auto last = zp::open_delta(third, {.base = one}).value();
  CHECK(last.load<words>("layers/w").value() == w3);
  CHECK(last.names() == std::vector<std::string>{"layers/w", "same"});
}

TEST_CASE("delta: of two checkpoints, whose steps follow each other") {
  const series of;
  const std::string a = (of.at / "a"), b = (of.at / "b"), c = (of.at / "c");
  const zp::save_options packed{.rules = {{.codecs = zp::blosc_codecs(1)}}};
  REQUIRE(zp::save(a, {{"w", of.w0}, {"text", std::string("x")}}, packed));
  REQUIRE(zp::save(b, {{"w", of.w1}, {"text", std::string("y")}}, packed));
  REQUIRE(zp::save(c, {{"w", of.w2}, {"text", std::string("y")}, {"n", of.small}}, packed));
  const std::string ab = (of.at / "ab"), bc = (of.at / "bc");
  REQUIRE(zp::save_delta(ab, {a}, zp::open(b).value()));
  REQUIRE(zp::save_delta(bc, {b}, zp::open(c).value()));
  // Who has the first gets the last by the deltas alone.
  const auto found = zp::open_delta({a, {ab, bc}}).value();
  CHECK(found.id() == zp::open(c)->id());
  CHECK(found.load<words>("w").value() == of.w2);
  CHECK(found.load<std::string>("text").value() == "y");
  CHECK(found.load<std::vector<float>>("n").value() == of.small);
}

TEST_CASE("apply_delta: tensors of the base become those of the delta, or stay") {
  const series of;
  words w = of.w0;
  std::vector<float> small = of.small;
  words same = of.same;
  const auto done = zp::apply_delta(of.first, {{"layers/w", w}, {"small", small}, {"same", same}});
  REQUIRE(done);
  CHECK(w == of.w1);
  CHECK(small == of.other);
  CHECK(same == of.same);
  CHECK(done->id == zp::open_delta(of.first)->id());
  CHECK(done->unnamed == std::vector<std::string>{"fresh"});
  CHECK(done->changed_chunks >= 3);

  // A tensor that is another, by one element: nothing changes, in none of them.
  words wrong = of.w0;
  wrong[many - 1] ^= 1;
  const words before = wrong;
  small = of.small;
  const auto refused = zp::apply_delta(of.first, {{"small", small}, {"layers/w", wrong}});
  REQUIRE(!refused);
  CHECK(refused.failure().code == zp::errc::corrupt);
  CHECK(wrong == before);
  CHECK(small == of.small);

  // One tensor for two leaves, or parts of one, would be changed twice.
  w = of.w0;
  const auto tied = zp::apply_delta(
      of.first, {{"small", small}, {"layers/w", w}, {"small", std::span<float>(small)}});
  REQUIRE(!tied);
  CHECK(tied.failure().code == zp::errc::invalid_argument);
  CHECK(w == of.w0);
  CHECK(small == of.small);

  double old = 1.5;
  CHECK(zp::apply_delta(of.first, {{"old", old}}).failure().code == zp::errc::not_found);
  std::vector<double> type(many);
  CHECK(zp::apply_delta(of.first, {{"layers/w", type}}).failure().code == zp::errc::dtype_mismatch);
  CHECK(zp::apply_delta(of.base, {{"layers/w", w}}).failure().code == zp::errc::invalid_argument);
}

TEST_CASE("apply_delta: a delta that does not make what it says is told, once it is too late") {
  const series of;
  const std::string file = of.first + "/zarr.json";
  zp::json root = zp::parse_json(zp::as_bytes(test::read_file(file)), {}).value();
  zp::json& own = *root.find("attributes")->find("zarrpoint");
  zp::json& sums = *own.find("results")->find("layers/w")->find("c.0")->find("crc32c");
  std::string wrong = *sums.if_string();
  wrong[0] = wrong[0] == '0' ? '1' : '0';
  sums = wrong;
  std::erase_if(*own.if_object(), [](const auto& member) { return member.key == "crc32c"; });
  own.set("crc32c", zp::detail::commit_seal(own));
  test::write_file(file, zp::dump_json(root, zp::json_style::compact));
  words mine = of.w0;
  const auto done = zp::apply_delta(of.first, {{"layers/w", mine}});
  REQUIRE(!done);
  CHECK(done.failure().code == zp::errc::corrupt);
  CHECK(done.failure().message.find("changed in part") != std::string::npos);
}

TEST_CASE("delta: a chain is read within the memory of one") {
  const test::temp_directory at;
  words w = random_words(std::size_t{1} << 20, 1);
  zp::location last(at / "0");
  REQUIRE(zp::save(last, {{"w", w}}));
  for (unsigned i = 1; i <= 8; ++i) {
    w = stepped(w, 0.01, i);
    const zp::location next(at / std::to_string(i));
    REQUIRE(zp::save_delta(next, last, {{"w", w}}));
    last = next;
  }
  constexpr std::size_t most = std::size_t{1} << 20;
  zp::limited_resource counted(most);
  zp::context how;
  how.resource = &counted;
  how.limit.memory = most;
  words mine(w.size());
  zp::open_delta(last, {}, how)->load_into("w", mine).value();
  CHECK(mine == w);
  MESSAGE("a chain of eight: " << counted.peak() << " bytes");
  // Too little for so many: an error, not more than that.
  how.limit.memory = std::size_t{64} << 10;
  const auto opened = zp::open_delta(last, {}, how);
  const auto loaded = opened ? opened->load_into("w", mine) : zp::result<void>(opened.failure());
  REQUIRE(!loaded);
  CHECK(loaded.failure().code == zp::errc::resource_limit);
}

TEST_CASE("apply_delta: takes an inner chunk and 64 KiB") {
  for (const double share : {0.01, 0.3, 1.0}) {
    const test::temp_directory at;
    words before = random_words(std::size_t{2} << 20, 1);
    // Of the last all words are others, and chunks are stored whole.
    const words after = share == 1.0 ? random_words(before.size(), 2) : stepped(before, share, 2);
    REQUIRE(zp::save(at / "base", {{"w", before}}));
    REQUIRE(zp::save_delta(at / "delta", at / "base", {{"w", after}}));
    constexpr std::size_t most = (std::size_t{1} << 20) + (std::size_t{64} << 10);
    zp::limited_resource counted(most);
    zp::context how;
    how.resource = &counted;
    how.limit.memory = most;
    const auto done = zp::apply_delta(at / "delta", {{"w", before}}, how);
    REQUIRE(done);
    CHECK(before == after);
    MESSAGE("share " << share << ": " << counted.peak() << " bytes");
  }
}

TEST_CASE("delta: in any store, in memory and within a prefix") {
  const zp::memory_store store;
  const words w0 = random_words(60'000, 1), w1 = stepped(w0, 0.01, 2);
  const auto key = [](const char* name) { return zp::store_key::parse(name).value(); };
  REQUIRE(zp::save({store, key("run/base")}, {{"w", w0}}));
  REQUIRE(
      zp::save({store, key("run/delta")}, {{"w", w1}},
               {.format = zp::delta::format{.base = {store, key("run/base")}, .path = "base"}}));
  CHECK(zp::open_delta({store, key("run/delta")})->load<words>("w").value() == w1);
}

TEST_CASE("delta: what it has no place for is refused") {
  const series of;
  const std::string to = (of.at / "to");
  CHECK(zp::save_delta(to, of.base, {{"w", of.w0}}, {.zarr_format = 2}).failure().code ==
        zp::errc::unsupported);
  REQUIRE(zp::save((of.at / "v2"), {{"w", of.w0}}, {.zarr_format = 2}));
  CHECK(zp::save_delta(to, (of.at / "v2"), {{"w", of.w0}}).failure().code == zp::errc::unsupported);
  CHECK(zp::save_delta(to, (of.at / "nothing"), {{"w", of.w0}}).failure().code ==
        zp::errc::not_found);
  CHECK(!std::filesystem::exists(to));
}

TEST_CASE("delta: rules that match nothing, and codecs that have no effect, are told") {
  const series of;
  const std::string to = (of.at / "to");
  zp::save_options how{.rules = {{.glob = "layer/*", .chunk_byte_size = 1 << 20}}};
  const auto done = zp::save_delta(to, of.base, {{"layers/w", of.w1}}, how);
  REQUIRE(done);
  REQUIRE(done->warnings.size() == 1);
  CHECK(done->warnings[0].find("\"layer/*\" matches no leaf") != std::string::npos);
  how.rules_must_match = true;
  CHECK(zp::save_delta(to, of.base, {{"layers/w", of.w2}}, how).failure().code ==
        zp::errc::invalid_argument);
  CHECK(zp::open_delta(to).value().id() == done->id);  // what was there stays
  how.rules = {{.glob = "layers/*", .codecs = zp::zstd_codecs()}};
  const auto coded = zp::save_delta(to, of.base, {{"layers/w", of.w1}}, how);
  REQUIRE(coded);
  REQUIRE(coded->warnings.size() == 1);
  CHECK(coded->warnings[0].find("a codec of its own") != std::string::npos);
}

}  // namespace delta_test
