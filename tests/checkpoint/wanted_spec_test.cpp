// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/array_cases.hpp"

#include <doctest/doctest.h>

namespace wanted_spec_test {

using namespace zarrpoint;
using detail::check_type;
using detail::wanted_as;
using detail::wanted_part;
using detail::wanted_spec;

namespace {

/// An array of 6 x 4 floats, as a leaf.
struct stored {
  memory_store store;
  array source = array::create(store, store_key::root(),
                               zarrpoint_test::raw_metadata(dtype_kind::float32, {6, 4}, {6, 4}))
                     .value();
  detail::stored_leaf leaf;
  stored() { leaf.name = "layer/w"; }
};

}  // namespace

TEST_CASE("wanted_spec: the stored one, but for what rules of that name ask for") {
  const stored in;
  CHECK(wanted_spec(in.source, "layer/w", {}).value() == in.source.spec());
  const load_rule half{.glob = "layer/*", .cast = dtype(dtype_kind::float16)};
  const load_rule longer{.glob = "**/w", .shape = dims{9, 4}};
  const load_options options{.rules = {half, longer}};
  CHECK(wanted_spec(in.source, "layer/w", options).value() ==
        tensor_spec{dtype_kind::float16, {9, 4}});
  CHECK(wanted_spec(in.source, "other/b", options).value() == in.source.spec());
}

TEST_CASE("wanted_spec: rules that cannot be kept") {
  const stored in;
  const load_rule flat{.glob = "**", .shape = dims{24}};
  CHECK(wanted_spec(in.source, "layer/w", {.rules = {flat}}).failure().code ==
        errc::shape_mismatch);
  const load_rule text{.glob = "**", .cast = dtype(dtype_kind::string)};
  CHECK(wanted_spec(in.source, "layer/w", {.rules = {text}}).failure().code == errc::unsupported);
}

TEST_CASE("wanted_as: another type only where a cast is allowed") {
  const stored in;
  CHECK(wanted_as(dtype(), in.leaf, in.source, {}).value() == in.source.spec());
  CHECK(wanted_as(dtype_kind::float64, in.leaf, in.source, {}).failure().code ==
        errc::dtype_mismatch);
  CHECK(wanted_as(dtype_kind::float64, in.leaf, in.source, {.cast = true}).value() ==
        tensor_spec{dtype_kind::float64, {6, 4}});
  // A rule's type is the one that the other is compared with.
  const load_rule wide{.glob = "layer/w", .cast = dtype(dtype_kind::float64)};
  CHECK(wanted_as(dtype_kind::float64, in.leaf, in.source, {.rules = {wide}}));
}

TEST_CASE("wanted_part: the part's shape, which no rule changes") {
  const stored in;
  const load_rule rule{.glob = "**", .cast = dtype(dtype_kind::float16), .shape = dims{100, 4}};
  const load_options options{.rules = {rule}};
  CHECK(wanted_part(in.leaf, in.source, box({2, 0}, {3, 4}), options).value() ==
        tensor_spec{dtype_kind::float16, {3, 4}});
  CHECK(wanted_part(in.leaf, in.source, box({5, 0}, {2, 4}), options).failure().code ==
        errc::out_of_range);
}

TEST_CASE("check_type: what is refused is told with both types") {
  CHECK(check_type(dtype_kind::int8, dtype_kind::int8, {}));
  CHECK(check_type(dtype_kind::int8, dtype_kind::float32, {.cast = true}));
  CHECK(check_type(dtype_kind::int8, dtype_kind::float32, {}).failure().message ==
        "stored dtype is int8, wanted float32; set load_options::cast to convert it");
  CHECK(check_type(dtype_kind::string, dtype_kind::float32, {.cast = true}).failure().code ==
        errc::unsupported);
}

}  // namespace wanted_spec_test
