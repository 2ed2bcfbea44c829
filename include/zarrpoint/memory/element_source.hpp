// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A part of a tensor on its way to the host, in memory that others wait for. Destroying it waits
/// until nothing is under way any more, and gives the memory back.
class source_part {
 public:
  source_part() = default;
  source_part(const source_part&) = delete;
  source_part& operator=(const source_part&) = delete;
  virtual ~source_part() = default;

  /// The elements, once they are there; any number of threads may wait. Errors: those of the space.
  virtual result<host_view> wait() = 0;
  /// What they lie in.
  virtual bytes_view memory() const = 0;

  /// After `wait`, of a part that `begin_stored` began: the stored bytes of an inner chunk, none of
  /// them if it is only the fill value. Nothing where it was not encoded: then there are elements.
  /// To be asked for once.
  virtual std::optional<bytes_view> stored(std::size_t) { return std::nullopt; }
};

struct codec_spec;

/// Inner chunks that a source is asked for as they will be stored.
struct chunk_request {
  box part;                 ///< all of them
  std::vector<box> chunks;  ///< one after another, each whole
  const std::vector<codec_spec>* codecs = nullptr;
  bytes_view fill{};  ///< the element of which chunks are not stored; empty: they are all the same
};

/// Elements in memory of their own.
struct owned_elements {
  host_view view;
  buffer memory;
};

class element_source;

/// All elements of several sources, which come in one part.
struct joint_read {
  std::span<element_source* const> sources;
  std::span<host_view> views;  ///< of each, once the part has been waited for
  std::size_t asked = 0;  ///< how many were asked for; after an error the next one is its cause
};

/// The elements of a tensor that the host cannot touch where they are, given part by part to
/// the writer. Thread-safe. What they are read from stays until it is destroyed.
class element_source {
 public:
  element_source() = default;
  element_source(const element_source&) = delete;
  element_source& operator=(const element_source&) = delete;
  virtual ~element_source() = default;

  virtual const tensor_spec& spec() const noexcept = 0;
  /// The most bytes of a part that `begin` takes.
  virtual std::size_t part_bytes() const = 0;
  /// What the parts of one source wait for with those of another, if it is the same for both.
  virtual const void* lane() const noexcept = 0;
  /// The time that making the memory of its lane took.
  virtual double pin_seconds() const = 0;

  /// Begins to read a part. Without room for it: waits, or gives null when `wait` is false.
  ///
  /// A thread that holds parts and waits for one more must hold them in the order in which it will
  /// give them back, or it could wait for itself. Errors: those of the space.
  virtual result<std::unique_ptr<source_part>> begin(const box& part, bool wait) = 0;
  /// The same of inner chunks, which the part has as they will be stored, if the source can encode
  /// them where they are.
  virtual result<std::unique_ptr<source_part>> begin_stored(const chunk_request& of, bool wait) {
    return begin(of.part, wait);
  }

  /// The bytes that all elements take of a part that they share; 0 when they must come alone.
  virtual std::size_t joint_bytes() const { return 0; }
  /// Whether another source that can share a part may share one with this.
  virtual bool joins(const element_source&) const { return false; }
  /// Begins to read several sources, this one the first, which all join it and together take no
  /// more than `part_bytes`. Else as `begin`.
  virtual result<std::unique_ptr<source_part>> begin_joint(joint_read&, bool) {
    return error{errc::unsupported, "this source cannot be read together with others"};
  }
  /// Equal for sources of one type only.
  virtual const void* kind() const noexcept { return nullptr; }

  /// Reads a part of any size into memory of `resource`, and never waits for room. Errors: those of
  /// the space, `resource_limit`.
  virtual result<owned_elements> read(const box& part, memory_resource& resource) = 0;

  /// Begins to copy all elements where they are, and reads the copy from then on. Errors:
  /// `resource_limit` where there is no room, and `unsupported`, after which it reads what it did
  /// before; those of the space.
  virtual result<void> copy_in_place() {
    return error{errc::unsupported, "this source cannot copy its elements where they are"};
  }
  /// Returns when the caller's own memory is no longer needed: at once, unless there is such a copy
  /// under way. Errors: those of the space.
  virtual result<void> settle() { return {}; }
};

}}  // namespace zarrpoint::v0
