// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orbax_inline_test {

using namespace zarrpoint;

using orbax::detail::aggregate_array;
using orbax::detail::aggregate_leaf;
using orbax::detail::inline_leaves;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

aggregate_leaf text(std::string of) {
  aggregate_leaf out;
  out.kind = orbax::detail::aggregate_kind::text;
  out.text = std::move(of);
  return out;
}

aggregate_leaf array(std::vector<index_t> shape,
                     std::vector<orbax::detail::aggregate_piece> pieces) {
  aggregate_leaf out;
  out.kind = orbax::detail::aggregate_kind::array;
  out.array = std::make_unique<aggregate_array>();
  out.array->type = "int8";
  out.array->shape = std::move(shape);
  out.array->pieces = std::move(pieces);
  return out;
}

aggregate_leaf scalar(std::string elements) {
  aggregate_leaf out = array({}, {});
  out.text = std::move(elements);
  return out;
}

/// In an order that is none, with names that a "/" divides from their keys otherwise than a sort.
inline_leaves leaves() {
  const memory_store store;
  store.put(key("f"), as_bytes(std::string_view("0123456789"))).value();
  inline_leaves out(store.open(key("f")).value());
  CHECK(out.add("d/x", text("last")));
  CHECK(out.add("a-b", scalar("\7")));
  CHECK(out.add("a/b", array({2, 2}, {{6, 3}, {1, 1}})));
  CHECK(out.add("a.e", array({0, 3}, {})));
  CHECK(out.add("d/w/y", text("")));
  out.finish();
  return out;
}

std::string bytes(const inline_leaves& of, std::string_view at) {
  const auto object = of.open(at, "the object").value();
  if (object == nullptr) return "none";
  std::string out(object->size(), ' ');
  object->read(0, std::as_writable_bytes(std::span(out))).value();
  return out;
}

TEST_CASE("orbax: what a file of msgpack holds is made when it is asked for") {
  const inline_leaves held = leaves();
  CHECK(bytes(held, "a/b/c/0/0") == "6781");
  CHECK(bytes(held, "a-b/c") == "\7");
  CHECK(bytes(held, "d/x/c") == std::string("\1\0\0\0\4\0\0\0last", 12));
  CHECK(bytes(held, "d/w/y/c") == std::string("\1\0\0\0\0\0\0\0", 8));
  CHECK(bytes(held, "a/b/zarr.json").find(R"("shape":[2,2],"data_type":"int8")") !=
        std::string::npos);
  CHECK(bytes(held, "a.e/zarr.json").find(R"("chunk_shape":[1,3])") != std::string::npos);
  CHECK(bytes(held, "d/x/zarr.json") == orbax::detail::text_document);
  for (const char* other :
       {"", "a", "a/", "a.e/c/0/0", "a/b/c", "a/b/c/0/1", "a-b/c/0", "a-b/", "b", "d", "d/x",
        "d/x/", "d/x/d", "z", "0", "zarr.json", "d/zarr.json"}) {
    INFO(other);
    CHECK(bytes(held, other) == "none");
  }
  CHECK(bytes(inline_leaves(), "zarr.json") == "none");
  for (const char* made : {"a-b/c", "d/x/c", "d/x/zarr.json"})
    CHECK(held.open(made, "its name").value()->name() == "its name");
}

TEST_CASE("orbax: what a file of msgpack holds is listed, whatever its names") {
  using entries = std::vector<list_entry>;
  const inline_leaves held = leaves();
  CHECK(held.list(store_key::root()) ==
        entries{{"a", true}, {"a-b", true}, {"a.e", true}, {"d", true}});
  CHECK(held.list(key("a")) == entries{{"b", true}});
  CHECK(held.list(key("a.e")) == entries{{"zarr.json", false}});
  CHECK(held.list(key("a-b")) == entries{{"c", false}, {"zarr.json", false}});
  CHECK(held.list(key("a/b")) == entries{{"c", true}, {"zarr.json", false}});
  CHECK(held.list(key("a/b/c")) == entries{{"0", true}});
  CHECK(held.list(key("a/b/c/0")) == entries{{"0", false}});
  CHECK(held.list(key("d")) == entries{{"w", true}, {"x", true}});
  CHECK(held.list(key("d/w")) == entries{{"y", true}});
  CHECK(held.list(key("b")).empty());
  CHECK(held.list(key("e")).empty());
  CHECK(inline_leaves().list(store_key::root()).empty());
}

TEST_CASE("orbax: a leaf of msgpack whose keys would be too long is refused") {
  inline_leaves held;
  const auto name = [](std::size_t size) {
    std::string out(size, 'a');
    for (std::size_t at = 200; at + 1 < size; at += 200) out[at] = '/';
    return out;
  };
  CHECK(held.add(name(store_key::max_size - 10), text("x")));
  CHECK(!held.add(name(store_key::max_size - 9), text("x")));
  CHECK(held.add(name(store_key::max_size - 20), array(std::vector<index_t>(9, 1), {{0, 1}})));
  CHECK(!held.add(name(store_key::max_size - 20), array(std::vector<index_t>(10, 1), {{0, 1}})));
  CHECK(!held.add("a/../b", text("x")));
}

TEST_CASE("orbax: one value that is the whole file of msgpack") {
  inline_leaves held;
  CHECK(held.add("", scalar("\7")));
  held.finish();
  CHECK(bytes(held, "c") == "\7");
  CHECK(bytes(held, "zarr.json").find(R"("shape":[])") != std::string::npos);
  CHECK(held.list(store_key::root()) ==
        std::vector<list_entry>{{"c", false}, {"zarr.json", false}});
}

}  // namespace orbax_inline_test
