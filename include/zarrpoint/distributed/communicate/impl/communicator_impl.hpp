// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string to_string(const collective_step& step) {
  std::string text(to_string(step.what));
  if (step.what == collective::gather) text += " to rank " + std::to_string(step.root);
  if (step.what == collective::scatter || step.what == collective::broadcast)
    text += " from rank " + std::to_string(step.root);
  return text;
}

namespace detail {

ZARRPOINT_INLINE result<void> check_step(const collective_step& step, int size) {
  if (step.root >= 0 && step.root < size) return {};
  return error{errc::invalid_argument, std::string(to_string(step.what)) + ": there is no rank " +
                                           std::to_string(step.root) + "; the number of ranks is " +
                                           std::to_string(size)};
}

ZARRPOINT_INLINE result<void> check_messages(const collective_step& step, std::size_t count,
                                             int size) {
  if (count == static_cast<std::size_t>(size)) return {};
  return error{errc::invalid_argument, std::string(to_string(step.what)) + ": " +
                                           std::to_string(count) + " messages for " +
                                           std::to_string(size) + " ranks"};
}

ZARRPOINT_INLINE error unmatched(int other, const std::string& its, int mine,
                                 const std::string& ours) {
  return {errc::invalid_argument, "Unmatched collectives: rank " + std::to_string(other) +
                                      " is in " + its + ", rank " + std::to_string(mine) + " in " +
                                      ours};
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<message>> single_process::exchange(
    std::vector<message> to_each) const {
  ZARRPOINT_CHECK(detail::check_messages({collective::exchange}, to_each.size(), 1));
  return to_each;
}

ZARRPOINT_INLINE result<std::vector<message>> single_process::gather(collective_step step,
                                                                     message mine) const {
  ZARRPOINT_CHECK(detail::check_step(step, 1));
  std::vector<message> all;
  all.push_back(std::move(mine));
  return all;
}

ZARRPOINT_INLINE result<message> single_process::scatter(collective_step step,
                                                         std::vector<message> to_each) const {
  ZARRPOINT_CHECK(detail::check_step(step, 1));
  ZARRPOINT_CHECK(detail::check_messages(step, to_each.size(), 1));
  return std::move(to_each.front());
}

ZARRPOINT_INLINE result<message> single_process::broadcast(collective_step step,
                                                           message mine) const {
  ZARRPOINT_CHECK(detail::check_step(step, 1));
  return mine;
}

ZARRPOINT_INLINE result<std::vector<message>> any_communicator::exchange(
    std::vector<message> to_each) const {
  return model_->exchange(std::move(to_each));
}

ZARRPOINT_INLINE result<std::vector<message>> any_communicator::gather(collective_step step,
                                                                       message mine) const {
  return model_->gather(step, std::move(mine));
}

ZARRPOINT_INLINE result<message> any_communicator::scatter(collective_step step,
                                                           std::vector<message> to_each) const {
  return model_->scatter(step, std::move(to_each));
}

ZARRPOINT_INLINE result<message> any_communicator::broadcast(collective_step step,
                                                             message mine) const {
  return model_->broadcast(step, std::move(mine));
}

}}  // namespace zarrpoint::v0
