// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string to_string(const strategy_id& id) {
  return "(" + id.backend + ", " + std::to_string(id.version) + ")";
}

namespace detail {

ZARRPOINT_INLINE opened_once& opened_once::operator=(const opened_once& other) noexcept {
  if (this != &other) opened_.reset();
  return *this;
}

}  // namespace detail

ZARRPOINT_INLINE result<checkpoint> load_job::open() const {
  return opened.get([&] { return checkpoint::open(location(store), how); });
}

ZARRPOINT_INLINE result<message> sharded_reader::read_object(const object_id& id) const {
  return error{errc::unsupported, "object " + unique_key(id) + ": this format has no objects"};
}

ZARRPOINT_INLINE result<std::vector<std::string>> sharded_reader::remove(
    const any_store& store, std::string_view prefix) const {
  static_cast<void>(store), static_cast<void>(prefix);
  return error{errc::unsupported, "nothing can be removed from checkpoints of this format"};
}

}}  // namespace zarrpoint::v0
