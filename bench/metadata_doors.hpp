// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Headers and metadata of other formats that somebody made to cost much.

#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doors {

namespace zp = zarrpoint;

/// A document, and what reads it: which says how that ended.
struct door_case {
  std::string name;
  std::string text;
  std::function<std::string(const std::string& text)> read;
};

template <class T>
std::string ending(const zp::result<T>& of) {
  return of ? "ok" : std::string(zp::to_string(of.failure().code));
}

using maker = std::function<std::string(std::size_t)>;

/// As many of `one(i)` as there is room for, and how many they are.
inline std::pair<std::string, std::size_t> many(std::size_t bytes, const maker& one) {
  std::string out;
  for (std::size_t i = 0;; ++i) {
    const std::string next = one(i);
    if (out.size() + next.size() > bytes) return {std::move(out), i};
    out += next;
  }
}

/// The same with commas between.
inline std::string listed(std::size_t bytes, const std::string& head, const maker& one,
                          const std::string& tail) {
  std::string body =
      many(bytes - head.size() - tail.size(), [&](std::size_t i) { return one(i) + ','; }).first;
  body.pop_back();
  return head + body + tail;
}

inline maker always(std::string text) {
  return [text = std::move(text)](std::size_t) { return text; };
}

inline std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

inline std::string sized(const std::string& text) { return little(text.size(), 8) + text; }

inline zp::memory_store with(const std::string& key, const std::string& text) {
  zp::memory_store out;
  out.put(zp::store_key::parse(key).value(), zp::as_bytes(std::string_view(text))).value();
  return out;
}

inline void add_safetensors(std::vector<door_case>& out, std::size_t bytes) {
  const auto add = [&](std::string name, const maker& one, const std::string& head = "{",
                       const std::string& tail = "}") {
    out.push_back({"safetensors: " + std::move(name), sized(listed(bytes, head, one, tail)),
                   [](const std::string& text) {
                     return ending(
                         zp::safetensors::open(with("m", text), zp::store_key::parse("m").value()));
                   }});
  };
  const std::string empty = R"(":{"dtype":"I8","shape":[0],"data_offsets":[0,0]})";
  add("tensors", [&](std::size_t i) { return '"' + std::to_string(i) + empty; });
  add("the same tensor", always("\"a" + empty));
  add(
      "texts", [](std::size_t i) { return '"' + std::to_string(i) + "\":\"\""; },
      "{\"__metadata__\":{", "}}");
  add("a shape", always("1"), R"({"a":{"dtype":"I8","data_offsets":[0,1],"shape":[)", "]}}");
}

inline void add_gguf(std::vector<door_case>& out, std::size_t bytes) {
  const auto add = [&](std::string name, std::uint64_t tensors, std::uint64_t entries,
                       const std::string& body) {
    out.push_back({"GGUF: " + std::move(name),
                   "GGUF" + little(3, 4) + little(tensors, 8) + little(entries, 8) + body,
                   [](const std::string& text) {
                     return ending(zp::gguf::tensor_store::open(with("m", text),
                                                                zp::store_key::parse("m").value()));
                   }});
  };
  const auto values = [&](std::string name, std::uint32_t type, const std::string& one) {
    const auto [text, count] = many(bytes, always(one));
    add(std::move(name), 0, 1,
        sized("a") + little(9, 4) + little(type, 4) + little(count, 8) + text);
  };
  values("bytes", 0, "a");
  values("texts", 8, little(0, 8));
  values("lists", 9, little(0, 4) + little(0, 8));
  const auto [entries, entry_count] =
      many(bytes, [](std::size_t i) { return sized(std::to_string(i)) + little(0, 4) + 'a'; });
  add("entries", 0, entry_count, entries);
  const auto [tensors, tensor_count] = many(bytes, [](std::size_t i) {
    return sized(std::to_string(i)) + little(1, 4) + little(0, 8) + little(24, 4) + little(0, 8);
  });
  add("tensors", tensor_count, 0, tensors);
  const auto [sound, sound_count] = many(bytes, [](std::size_t i) {
    return sized(std::to_string(i)) + little(1, 4) + little(1, 8) + little(24, 4) +
           little(32 * i, 8);
  });
  add("tensors with their elements", sound_count, 0,
      sound + std::string(32 * sound_count + 31, 'e'));
}

inline void add_pickles(std::vector<door_case>& out, std::size_t bytes) {
  const auto add = [&](std::string name, const std::string& head, const std::string& one,
                       const std::string& tail) {
    out.push_back({"DCP: " + std::move(name),
                   "\x80\x04" + head + many(bytes, always(one)).first + tail + '.',
                   [](const std::string& text) {
                     return ending(zp::dcp::read_metadata(zp::as_bytes(std::string_view(text))));
                   }});
  };
  using namespace std::string_literals;
  add("lists", "](", "]", "e");
  add("None", "](", "N", "e");
  add("numbers", "](", "K\1", "e");
  add("texts", "](", "\x8c\0"s, "e");
  add("calls", "](", "))R", "e");
  add("the memo, written", "]", "\x94", "");
  add("the memo, read", "]\x94(", "h\0"s, "e");
  add("tuples in tuples", ")", "\x85", "");
  add("lists of one", "](", "]Na", "e");
  add("marks", "", "(", "");
  add("copies", "N", "2", "");
  add("one dict", "}(", "NN", "u");
  add("names", "](", "ca\nb\n", "e");
  add("states", "))R", "Nb", "");
}

inline void add_json(std::vector<door_case>& out, std::size_t bytes) {
  const auto add = [&](std::string name, std::string text, auto read) {
    out.push_back({"Orbax: " + std::move(name), std::move(text), [read](const std::string& from) {
                     return ending(read(zp::as_bytes(std::string_view(from))));
                   }});
  };
  const auto tree = [](zp::bytes_view text) { return zp::orbax::read_tree(text); };
  const std::string leaf =
      R"("value_metadata":{"value_type":"jax.Array","skip_deserialize":false}})";
  const auto leaf_of = [&](const std::string& name) {
    return "\"('" + name + "',)\":{\"key_metadata\":[{\"key\":\"" + name + "\",\"key_type\":2}]," +
           leaf;
  };
  add("leaves",
      listed(
          bytes, R"({"tree_metadata":{)", [&](std::size_t i) { return leaf_of(std::to_string(i)); },
          "}}"),
      tree);
  add("keys of one leaf",
      listed(bytes, R"({"tree_metadata":{"a":{"key_metadata":[)",
             always(R"({"key":"a","key_type":2})"), "]," + leaf + "}}"),
      tree);
  add("deep leaves",
      listed(
          bytes, R"({"tree_metadata":{)",
          [&](std::size_t i) {
            std::string keys;
            for (int k = 0; k < 400; ++k) keys += R"({"key":"a","key_type":2},)";
            return '"' + std::to_string(i) + R"(":{"key_metadata":[)" + keys + R"({"key":")" +
                   std::to_string(i) + R"(","key_type":2}],)" + leaf;
          },
          "}}"),
      tree);
  const auto shardings = [](zp::bytes_view text) { return zp::orbax::read_shardings(text); };
  add("shardings",
      listed(
          bytes, "{", [](std::size_t i) { return '"' + std::to_string(i) + R"(":"{}")"; }, "}"),
      shardings);
  add("device ids",
      listed(
          bytes,
          R"({"YQ==":"{\"sharding_type\":\"NamedSharding\",\"shape\":[8],\"axis_names\":[\"x\"],)"
          R"(\"device_mesh\":{\"mesh\":[)",
          always(R"({\"id\":1})"), R"(]},\"partition_spec\":[]}"})"),
      shardings);
  add("partitions",
      listed(
          bytes,
          R"({"YQ==":"{\"sharding_type\":\"NamedSharding\",\"shape\":[8],\"axis_names\":[\"x\"],)"
          R"(\"partition_spec\":[)",
          always("null"), R"(]}"})"),
      shardings);
  add("array facts",
      listed(
          bytes, R"({"array_metadatas":[)",
          [](std::size_t i) {
            return R"({"array_metadata":{"param_name":")" + std::to_string(i) + "\"}}";
          },
          "]}"),
      [](zp::bytes_view text) { return zp::orbax::read_array_facts(text); });
  add("checkpoint facts",
      listed(
          bytes, R"({"item_handlers":{)",
          [](std::size_t i) { return '"' + std::to_string(i) + "\":\"\""; }, "}}"),
      [](zp::bytes_view text) { return zp::orbax::read_checkpoint_facts(text); });
  const auto aggregate = [&](std::string name, const std::string& text) {
    out.push_back({"Orbax: " + std::move(name), text, [](const std::string& from) {
                     return ending(zp::orbax::tree_store::open(with("checkpoint", from),
                                                               zp::store_key::root()));
                   }});
  };
  aggregate("msgpack, lists in lists", many(bytes, always("\x81\xa1"
                                                          "a"))
                                           .first);
  const auto sized = [](std::size_t count) {  // the number of what follows, of four bytes
    std::string text;
    for (int i = 3; i >= 0; --i) text += static_cast<char>(count >> (8 * i) & 0xff);
    return text;
  };
  aggregate("msgpack, numbers", "\xdd" + sized(bytes) + std::string(bytes, '\1'));
  const auto [leaves, count] = many(bytes, [](std::size_t i) {
    const std::string name = std::to_string(100000 + i);
    return '\xa6' + name + '\xc0';
  });
  aggregate("msgpack, members", "\xdf" + sized(count) + leaves);
}

/// A number of OCDBT.
inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

inline void add_ocdbt(std::vector<door_case>& out, std::size_t bytes) {
  const std::uint64_t limit = std::uint64_t{64} << 20;
  const auto add = [&](std::string name, std::uint32_t mark, const std::string& body,
                       std::optional<int> level, int height) {
    const auto record =
        zp::detail::close_ocdbt_envelope(zp::as_bytes(std::string_view(body)), mark, level).value();
    out.push_back({"OCDBT: " + std::move(name), std::string(zp::as_text(record)),
                   [mark, height, limit](const std::string& text) {
                     const auto from = zp::as_bytes(std::string_view(text));
                     if (mark == zp::detail::ocdbt_manifest_mark)
                       return ending(zp::detail::read_ocdbt_manifest(from, limit));
                     return ending(zp::detail::read_ocdbt_node(
                         from, static_cast<std::uint8_t>(height), limit));
                   }});
  };
  using namespace std::string_literals;
  const std::uint32_t node = zp::detail::ocdbt_node_mark;
  const auto columns = [](std::size_t count, const std::vector<std::string>& of) {
    std::string text;
    for (const std::string& one : of) text += many(count * one.size(), always(one)).first;
    return text;
  };
  {  // Of each entry: a prefix, a suffix of a byte, a length, a kind, the suffix.
    const std::size_t count = bytes / 7;
    std::string text = "\0"s + varint(0) + varint(count) + columns(count - 1, {varint(0)}) +
                       columns(count, {varint(3)});
    for (std::size_t i = 0; i < count; ++i) {
      text += static_cast<char>(i >> 16);
      text += static_cast<char>(i >> 8);
      text += static_cast<char>(i);
    }
    text += columns(count, {varint(0), "\0"s});
    add("entries", node, text, std::nullopt, 0);
  }
  {  // Keys that repeat nearly all of the one before.
    const std::size_t count = 1000;
    std::string text = "\0"s + varint(0) + varint(count);
    for (std::size_t i = 1; i < count; ++i) text += varint(60000 + i - 1);
    text += varint(60000) + columns(count - 1, {varint(1)}) + std::string(60000, 'a') +
            std::string(count - 1, 'a') + columns(count, {varint(0), "\0"s});
    add("keys of 60 MB", node, text, std::nullopt, 0);
  }
  {  // Paths that repeat nearly all of the one before.
    const std::size_t count = 900;
    std::string text = "\0"s + varint(count) + columns(count - 1, {varint(60000)}) + varint(60000) +
                       columns(count - 1, {varint(0)}) + columns(count, {varint(0)}) +
                       std::string(60000, 'a') + varint(1) + varint(1) + "a" + varint(0) + "\0"s;
    add("paths of 54 MB", node, text, std::nullopt, 0);
  }
  {
    const std::size_t count = bytes / 3;
    add("files", node,
        "\0"s + varint(count) + columns(count - 1, {varint(0)}) +
            columns(count, {varint(0), varint(0)}) + varint(0),
        std::nullopt, 0);
  }
  add("zeros of 48 MiB, in zstd", node, "\0"s + std::string(48 << 20, '\0'), 1, 0);
  const std::string configuration =
      std::string(16, 'i') + "\0"s + varint(100) + varint(100) + "\4"s + varint(0);
  {
    const std::size_t count = bytes / 18;
    std::string text = configuration + varint(1) + varint(0) + varint(0) + varint(count);
    for (std::size_t i = 0; i < count; ++i) text += varint(i + 1);
    add("versions", zp::detail::ocdbt_manifest_mark,
        text +
            columns(count, {"\0"s, varint(0), varint(0), varint(0), varint(0), varint(0), varint(0),
                            std::string(8, '\0')}) +
            varint(0),
        std::nullopt, 0);
  }
}

inline std::vector<door_case> door_cases(std::size_t bytes) {
  std::vector<door_case> out;
  add_safetensors(out, bytes);
  add_gguf(out, bytes);
  add_pickles(out, bytes);
  add_json(out, bytes);
  add_ocdbt(out, bytes);
  return out;
}
}  // namespace doors
