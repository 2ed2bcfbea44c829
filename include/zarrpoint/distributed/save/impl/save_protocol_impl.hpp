// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What a `plan_cache` has of the last save.
struct last_plan {
  message description;  ///< what the process brought
  std::string kind;
  int ranks = 0, rank = 0;  ///< of how many, and which of them it was
  std::string id;           ///< another one for each plan that is made
  std::shared_ptr<const void> of_format;
};

ZARRPOINT_INLINE message digest_of_shared(std::string_view text) {
  wire_writer to;
  to.number(text.size());
  to.number(crc32c(as_bytes(text)));
  return std::move(to).take();
}

ZARRPOINT_INLINE double save_protocol::seconds() const { return seconds_since(start_); }

ZARRPOINT_INLINE error save_protocol::explain(error failure) const {
  return guarded([&]() -> result<void> {
           return commit_.explain(std::move(failure), group_.name)
               .at(group_.action + " " + group_.name);
         })
      .failure();
}

ZARRPOINT_INLINE result<void> save_protocol::begin(bool copies) {
  auto begun = guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(plan());
    return stage(copies);
  });
  if (!begun) return explain(std::move(begun).failure());
  return {};
}

ZARRPOINT_INLINE result<void> save_protocol::plan() {
  const any_communicator& ranks = group_.ranks;
  result<void> prepared = guarded([&] { return format_.prepare(); });
  bool differs = false;
  if (format_.has_shared()) {
    const message mine = prepared ? digest_of_shared(format_.shared()) : message{};
    ZARRPOINT_TRY(of_root, broadcast(ranks, mine));
    // What is the same need not travel. A rank 0 that is not prepared fails the save below.
    differs = !of_root.empty() && of_root != mine;
  }
  message_budget counted(group_.how);
  const auto describe = [&]() -> result<message> {
    ZARRPOINT_CHECK(std::move(prepared));
    if (group_.how.stop.stop_requested()) return error{errc::cancelled, "stop was requested"};
    ZARRPOINT_TRY(out, format_.describe(differs));
    ZARRPOINT_CHECK(counted.count("the description", ranks.rank(), out.size()));
    return std::move(out);
  };
  ZARRPOINT_TRY(described, agree(ranks, guarded(describe)));
  ZARRPOINT_TRY(known, is_known(described));
  if (known) return plan_again();
  message kept = group_.plans != nullptr ? described : message{};
  ZARRPOINT_TRY(all, gather(ranks, std::move(described)));
  result<std::vector<message>> parts = std::vector<message>{};
  // What one has fails on all: none waits for a process that has given up.
  if (group_.is_root()) parts = guarded([&] { return plan_all(std::move(all), counted); });
  ZARRPOINT_TRY(part, scatter_result(ranks, std::move(parts)));
  ZARRPOINT_CHECK(agree(ranks, guarded([&]() -> result<void> {
                          if (!group_.is_root())
                            ZARRPOINT_CHECK(counted.count("the plan", ranks.rank(), part.size()));
                          return take(part);
                        })));
  if (group_.plans != nullptr)
    group_.plans->kept_ = detail::make_counted<const last_plan>(
        last_plan{std::move(kept), format_.plan_kind(), ranks.size(), ranks.rank(), plan_id_,
                  format_.keep_plan()});
  return {};
}

ZARRPOINT_INLINE result<std::vector<message>> save_protocol::plan_all(
    std::vector<message> described, message_budget& counted) {
  ZARRPOINT_CHECK(counted.count("the description", described, 0));
  ZARRPOINT_TRY(parts, format_.plan(std::move(described)));
  const std::string id = group_.plans != nullptr ? random_id() : std::string();
  for (message& part : parts) {
    wire_writer to;
    to.text(id);
    to.text(format_.staged_name());
    to.bytes(part);
    part = std::move(to).take();
  }
  ZARRPOINT_CHECK(counted.count("the plan", parts, -1));
  return std::move(parts);
}

ZARRPOINT_INLINE result<void> save_protocol::take(bytes_view part) {
  wire_reader from(part);
  plan_id_ = from.text();
  staged_name_ = from.text();
  const bytes_view own = from.bytes();
  ZARRPOINT_CHECK(from.finish().at("what rank 0 planned"));
  ZARRPOINT_CHECK(format_.take_part(own));
  return group_.is_root() ? result<void>() : format_.join(staged_name_);
}

ZARRPOINT_INLINE result<bool> save_protocol::is_known(const message& described) const {
  if (group_.plans == nullptr) return false;
  const last_plan* const kept = group_.plans->kept_.get();
  const any_communicator& ranks = group_.ranks;
  const bool mine = kept != nullptr && !described.empty() && kept->description == described &&
                    kept->kind == format_.plan_kind() && kept->ranks == ranks.size() &&
                    kept->rank == ranks.rank();
  // A process that missed a save has the plan of another, though it may bring the same.
  const bytes_view id = mine ? as_bytes(kept->id) : bytes_view();
  ZARRPOINT_TRY(all, all_gather(ranks, message(id.begin(), id.end())));
  return !all.front().empty() && std::all_of(all.begin(), all.end(), [&](const message& one) {
    return one == all.front();
  });
}

ZARRPOINT_INLINE result<void> save_protocol::plan_again() {
  is_reused_ = true;
  const auto reuse = [&] { return format_.reuse(group_.plans->kept_->of_format); };
  ZARRPOINT_TRY(name, broadcast_result(group_.ranks, guarded([&]() -> result<message> {
                                         if (!group_.is_root()) return message{};
                                         ZARRPOINT_CHECK(reuse());
                                         const std::string own = format_.staged_name();
                                         const bytes_view bytes = as_bytes(own);
                                         return message(bytes.begin(), bytes.end());
                                       })));
  staged_name_ = as_text(name);
  return agree(group_.ranks, guarded([&]() -> result<void> {
                 if (group_.is_root()) return {};
                 ZARRPOINT_CHECK(reuse());
                 return format_.join(staged_name_);
               }));
}

ZARRPOINT_INLINE result<void> save_protocol::stage(bool copies) {
  const any_communicator& ranks = group_.ranks;
  std::vector<message> pieces(static_cast<std::size_t>(ranks.size()));
  message_budget counted(group_.how);
  if (format_.exchanges()) {
    const auto to_send = [&] {
      message_budget sent(group_.how);
      return format_.pieces(sent);
    };
    ZARRPOINT_TRY(outgoing, agree(ranks, guarded(to_send)));
    ZARRPOINT_TRY(incoming, ranks.exchange(std::move(outgoing)));
    pieces = std::move(incoming);
  }
  return agree(ranks, guarded([&]() -> result<void> {
                 ZARRPOINT_CHECK(counted.count("what was sent", pieces, -1));
                 return format_.stage(std::move(pieces), copies);
               }));
}

ZARRPOINT_INLINE result<message> save_protocol::write() {
  // An exception of a format or a store becomes an error: the others wait for this process.
  return guarded([&] { return format_.write(); });
}

ZARRPOINT_INLINE result<void> save_protocol::commit(result<message> receipt) {
  const any_communicator& ranks = group_.ranks;
  message_budget counted(group_.how);
  ZARRPOINT_CHECK(agree(ranks, receipt ? counted.count("the receipt", ranks.rank(), receipt->size())
                                       : result<void>(receipt.failure())));
  commit_.give_receipt();
  ZARRPOINT_TRY(receipts, gather(ranks, std::move(*receipt)));
  const auto commit_all = [&]() -> result<message> {
    ZARRPOINT_CHECK(counted.count("the receipt", receipts, 0));
    return format_.commit(std::move(receipts), commit_);
  };
  // Collective: the commit itself happens on rank 0 alone.
  ZARRPOINT_TRY(told,
                commit_.tell(group_.is_root() ? guarded(commit_all) : result<message>(message{})));
  return group_.is_root() || told.empty() ? result<void>() : format_.take_report(told);
}

ZARRPOINT_INLINE result<void> save_protocol::finish(result<message> receipt) {
  auto done = guarded([&] { return commit(std::move(receipt)); });
  if (!done) return explain(std::move(done).failure());
  return {};
}

ZARRPOINT_INLINE message
encode_lists(std::initializer_list<const std::vector<std::string>*> lists) {
  wire_writer to;
  for (const auto* list : lists) {
    to.number(list->size());
    for (const std::string& one : *list) to.text(one);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> decode_lists(bytes_view told,
                                           std::initializer_list<std::vector<std::string>*> lists) {
  wire_reader from(told);
  for (auto* list : lists) {
    list->resize(from.count());
    for (std::string& one : *list) one = from.text();
  }
  return from.finish();
}

}}}  // namespace zarrpoint::v0::detail
