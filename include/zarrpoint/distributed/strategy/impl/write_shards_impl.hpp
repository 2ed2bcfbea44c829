// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE message encode_digests(const digests_of_arrays& arrays) {
  wire_writer to;
  to.number(arrays.size());
  for (const auto& [name, digests] : arrays) {
    to.text(name);
    to.number(digests.objects().size());
    for (const auto& [key, object] : digests.objects()) {
      to.text(key);
      to.number(object.size);
      to.number(object.crc32c.size());
      for (const std::optional<std::uint32_t>& crc : object.crc32c)
        to.number(crc ? std::uint64_t{1} + *crc : 0);
    }
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> decode_digests(bytes_view from_rank, digests_of_arrays& into) {
  wire_reader from(from_rank);
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    chunk_digests& digests = into[from.text()];
    for (std::size_t m = from.count(3); m > 0 && !from.failed(); --m) {
      std::string key = from.text();
      object_digest object;
      object.size = from.number();
      for (std::size_t crcs = from.count(); crcs > 0 && !from.failed(); --crcs) {
        const std::uint64_t crc = from.limited(std::uint64_t{1} << 32);
        object.crc32c.push_back(crc == 0 ? std::nullopt
                                         : std::optional(static_cast<std::uint32_t>(crc - 1)));
      }
      if (digests.find(key) != nullptr)
        return error{errc::corrupt, in_quotes(key) + " is there twice"};
      digests.set(std::move(key), std::move(object));
    }
  }
  return from.finish();
}

ZARRPOINT_INLINE receipt_check::receipt_check(std::span<const digests_of_arrays> of_ranks)
    : of_ranks_(of_ranks), of_writers_(of_ranks.size()) {}

ZARRPOINT_INLINE void receipt_check::begin(std::string_view array) {
  array_ = array;
  ++arrays_;
}

ZARRPOINT_INLINE void receipt_check::look_for(const std::string& name, int writer,
                                              bool may_be_absent) {
  const object_digest* const found = find(name, writer);
  ++planned_;
  if (found != nullptr && (may_be_absent || !found->absent())) return;
  constexpr std::size_t most_named = 4;
  if (++missing_ > most_named) return;
  named_ += (missing_ == 1 ? "" : ", ") + in_quotes(array_) + " " + name + " of rank " +
            std::to_string(writer);
}

ZARRPOINT_INLINE result<void> receipt_check::done() const {
  if (missing_ != 0)
    return error{errc::corrupt, std::to_string(missing_) + " of " + std::to_string(planned_) +
                                    " planned objects were not written, among them " + named_};
  std::size_t written = 0;
  for (const digests_of_arrays& arrays : of_ranks_) {
    for (const auto& [key, digests] : arrays) written += digests.objects().size();
  }
  if (written == planned_) return {};
  return error{errc::corrupt, std::to_string(written) + " objects were written instead of " +
                                  std::to_string(planned_)};
}

ZARRPOINT_INLINE const object_digest* receipt_check::find(const std::string& name, int writer) {
  const auto rank = static_cast<std::size_t>(writer);
  if (writer < 0 || rank >= of_ranks_.size()) return nullptr;
  of_writer& last = of_writers_[rank];
  if (std::exchange(last.array, arrays_) != arrays_) {
    const auto at = of_ranks_[rank].find(array_);
    last.digests = at == of_ranks_[rank].end() ? nullptr : &at->second;
  }
  return last.digests == nullptr ? nullptr : last.digests->find(name);
}

ZARRPOINT_INLINE result<void> cell_job::write_to(const zarrpoint::array& to,
                                                 write_options options) const {
  options.collected = &digests;
  if (cell.source) {
    ZARRPOINT_TRY(elements, cell.source(how));
    return to.write(cell.part, *elements, options);
  }
  ZARRPOINT_TRY(elements, cell.stage(how.scratch->resource()));
  return to.write(cell.part, elements.view, options);
}

}}}  // namespace zarrpoint::v0::detail
