// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (last == i + 1) text += ", " + std::to_string(ranks[last]);
    if (last > i + 1) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<message>> gather(const any_communicator& group, message mine,
                                                     int root) {
  return group.gather({collective::gather, root}, std::move(mine));
}

ZARRPOINT_INLINE result<message> scatter(const any_communicator& group,
                                         std::vector<message> to_each, int root) {
  return group.scatter({collective::scatter, root}, std::move(to_each));
}

ZARRPOINT_INLINE result<message> broadcast(const any_communicator& group, message mine, int root) {
  return group.broadcast({collective::broadcast, root}, std::move(mine));
}

ZARRPOINT_INLINE result<void> barrier(const any_communicator& group) {
  ZARRPOINT_CHECK(group.gather({collective::barrier}, {}));
  ZARRPOINT_CHECK(group.broadcast({collective::barrier}, {}));
  return {};
}

namespace detail {

ZARRPOINT_INLINE message pack(std::vector<message> parts) {
  std::size_t total = 8 * parts.size();
  for (const message& part : parts) total += part.size();
  message packed(total);
  std::byte* at = packed.data() + 8 * parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    store_le<std::uint64_t>(packed.data() + 8 * i, parts[i].size());
    at = std::copy(parts[i].begin(), parts[i].end(), at);
    parts[i] = {};
  }
  return packed;
}

ZARRPOINT_INLINE result<std::vector<message>> unpack(bytes_view packed, std::size_t parts) {
  const auto cut_off = [] { return error{errc::corrupt, "packed messages are cut off"}; };
  if (packed.size() / 8 < parts) return cut_off();
  const std::byte* const sizes = packed.data();
  packed = packed.subspan(8 * parts);
  std::vector<message> all(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    const auto size = load_le<std::uint64_t>(sizes + 8 * i);
    if (size > packed.size()) return cut_off();
    const bytes_view part = packed.first(static_cast<std::size_t>(size));
    all[i].assign(part.begin(), part.end());
    packed = packed.subspan(part.size());
  }
  if (!packed.empty()) return cut_off();
  return all;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<message>> all_gather(const any_communicator& group,
                                                         message mine) {
  const collective_step step{collective::all_gather};
  ZARRPOINT_TRY(gathered, group.gather(step, std::move(mine)));
  message packed;
  if (group.rank() == 0) packed = detail::pack(std::move(gathered));
  ZARRPOINT_TRY(all, group.broadcast(step, std::move(packed)));
  return detail::unpack(all, static_cast<std::size_t>(group.size()));
}

namespace detail {

inline constexpr std::size_t max_joint_error_bytes = 16384;

ZARRPOINT_INLINE std::string_view whole_characters(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  // Backwards over the bytes that continue a character.
  while (end != 0 && max_bytes - end < 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end);
}

ZARRPOINT_INLINE message pack_status(const result<void>& status, std::size_t max_bytes) {
  if (status) return {};
  const std::string_view text = whole_characters(status.failure().message, max_bytes);
  message packed{static_cast<std::byte>(status.failure().code)};
  const bytes_view bytes = as_bytes(text);
  packed.insert(packed.end(), bytes.begin(), bytes.end());
  if (text.size() != status.failure().message.size())
    packed.insert(packed.end(), 3, std::byte{'.'});
  return packed;
}

ZARRPOINT_INLINE result<void> unpack_status(bytes_view packed) {
  if (packed.empty()) return {};
  const auto code = static_cast<errc>(packed[0]);
  if (to_string(code) == "unknown") return error{errc::corrupt, "a rank's error has no code"};
  return error{code, std::string(as_text(packed.subspan(1)))};
}

/// Whether an error says what went wrong, and not only that this rank was told to give up.
ZARRPOINT_INLINE bool is_cause(errc code) {
  return code != errc::cancelled && code != errc::unavailable;
}

/// The statuses of all ranks as one: equal errors once, with the ranks that have them.
ZARRPOINT_INLINE result<void> join_statuses(const std::vector<message>& packed) {
  struct group {
    error what;
    std::vector<int> ranks;
  };
  std::vector<group> groups;
  for (std::size_t r = 0; r < packed.size(); ++r) {
    result<void> status = unpack_status(packed[r]);
    if (status) continue;
    // The same text is searched for among a few: beyond them ranks are only counted.
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const group& known) {
      return known.what.code == status.failure().code &&
             known.what.message == status.failure().message;
    });
    if (same != groups.end()) {
      same->ranks.push_back(static_cast<int>(r));
    } else {
      groups.push_back({std::move(status).failure(), {static_cast<int>(r)}});
    }
  }
  if (groups.empty()) return {};
  const auto cause = std::find_if(groups.begin(), groups.end(),
                                  [](const group& g) { return is_cause(g.what.code); });
  error joint{cause == groups.end() ? groups.front().what.code : cause->what.code, {}};
  std::vector<int> left_out;
  for (const group& g : groups) {
    std::string text = rank_list(g.ranks) + ": ";
    text += g.what.code == joint.code ? g.what.message : to_string(g.what);
    if (joint.message.size() + text.size() > max_joint_error_bytes) {
      left_out.insert(left_out.end(), g.ranks.begin(), g.ranks.end());
      continue;
    }
    if (!joint.message.empty()) joint.message += "; ";
    joint.message += text;
  }
  if (!left_out.empty()) {
    std::sort(left_out.begin(), left_out.end());
    joint.message += "; and others on " + rank_list(left_out);
  }
  return joint;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> agree(const any_communicator& group, result<void> mine) {
  if (group.size() == 1) return mine;
  const collective_step step{collective::agree};
  const auto talk = [&]() -> result<message> {
    ZARRPOINT_TRY(all, group.gather(step, detail::pack_status(mine)));
    return group.broadcast(step, detail::pack_status(detail::join_statuses(all), SIZE_MAX));
  };
  const result<message> joint = talk();
  if (joint) return detail::unpack_status(*joint);
  error lost = joint.failure();
  if (!mine) lost.message += "; and here: " + to_string(mine.failure());
  return lost;
}

namespace detail {

ZARRPOINT_INLINE result<message> broadcast_result(const any_communicator& group,
                                                  result<message> mine, int root) {
  message packed;
  if (group.rank() == root && mine) {
    packed = std::move(*mine);
    packed.push_back(std::byte{0});
  } else if (group.rank() == root) {
    packed = detail::pack_status(mine.failure());
    packed.push_back(std::byte{1});
  }
  ZARRPOINT_TRY(all, broadcast(group, std::move(packed), root));
  if (all.empty()) return error{errc::corrupt, "a broadcast result is cut off"};
  const bool failed = all.back() != std::byte{0};
  all.pop_back();
  if (!failed) return std::move(all);
  if (result<void> status = detail::unpack_status(all); !status) {
    if (group.size() == 1) return mine.failure();
    return std::move(status).failure().at(rank_list({root}));
  }
  return error{errc::corrupt, "a broadcast result is cut off"};
}

}  // namespace detail

}}  // namespace zarrpoint::v0
