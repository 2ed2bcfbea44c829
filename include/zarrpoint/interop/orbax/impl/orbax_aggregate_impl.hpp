// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/interop/orbax/orbax_msgpack.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/data_type.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

class aggregate_reader {
 public:
  explicit aggregate_reader(const blob& file) : in_(file) {}

  result<aggregate_leaves> run() {
    if (auto read = value(0); !read)
      return std::move(read).at("before byte " + std::to_string(in_.at())).failure();
    if (in_.left() > 0) return damaged("something follows its value");
    sort_by_name(out_,
                 [](const aggregate_leaf& each) -> const std::string& { return each.leaf.name; });
    for (std::size_t i = 1; i < out_.size(); ++i)
      if (out_[i].leaf.name == out_[i - 1].leaf.name)
        return damaged("two leaves have the name " +
                       v0::detail::in_quotes(out_[i].leaf.original_name()));
    return std::move(out_);
  }

 private:
  static constexpr int most_deep = 64;
  static constexpr std::string_view chunked_mark = "__msgpack_chunked_array__";
  static constexpr std::string_view placeholder_mark = "PLACEHOLDER://";

  static error damaged(std::string_view what) { return {errc::corrupt, std::string(what)}; }
  static error strange(std::string_view what) { return {errc::unsupported, std::string(what)}; }

  result<std::string> name() { return in_.short_text(store_key::max_size); }

  /// The number of elements, of which each takes `least_bytes`.
  result<std::uint64_t> elements(const msgpack_head& of, std::uint64_t least_bytes) const {
    if (of.number > in_.left() / least_bytes) return damaged("more elements than what is left");
    return of.number;
  }

  /// The same where each is a leaf, or holds some: too many are refused before they are read.
  result<std::uint64_t> children(const msgpack_head& of, std::uint64_t least_bytes) const {
    ZARRPOINT_TRY(count, elements(of, least_bytes));
    ZARRPOINT_CHECK(in_.check_room(count * sizeof(aggregate_leaf)));
    return count;
  }

  /// The next leaf, of which the path is known.
  result<aggregate_leaf*> add(aggregate_kind kind, std::string_view value_type) {
    std::uint64_t size = sizeof(aggregate_leaf);
    for (const tree_key& step : path_) size += sizeof step + 3 * step.text.size();
    if (kind == aggregate_kind::array) size += sizeof(aggregate_array);
    ZARRPOINT_CHECK(in_.count(size));
    aggregate_leaf& made = out_.emplace_back();
    made.kind = kind;
    if (kind == aggregate_kind::array) made.array = std::make_unique<aggregate_array>();
    made.leaf.path = path_;
    made.leaf.value_type = value_type;
    made.leaf.is_skipped = true;
    made.leaf.name = path_text(path_);
    for (std::size_t i = 0; i < path_.size(); ++i)
      made.leaf.storage += (i > 0 ? "." : "") + path_[i].text;
    return &made;
  }

  result<void> add_empty(std::string_view value_type) {
    ZARRPOINT_CHECK(add(aggregate_kind::empty, value_type));
    return {};
  }

  result<void> value(int depth) {
    if (depth > most_deep) return error{errc::resource_limit, "it is nested too deep"};
    ZARRPOINT_TRY(from, in_.head());
    switch (from.kind) {
      case msgpack_kind::map: return members(from, depth);
      case msgpack_kind::array: return sequence(from, depth, "List");
      case msgpack_kind::extension:
        return in_.within(from.number, [&] { return extension(from.extension, depth); });
      case msgpack_kind::nil: return add_empty("None");
      case msgpack_kind::text: return text(from);
      case msgpack_kind::boolean: return scalar("bool", from.number, 1);
      case msgpack_kind::real: return scalar("float64", from.number, 8);
      case msgpack_kind::negative: return scalar("int64", from.number, 8);
      case msgpack_kind::integer:
        return scalar(from.number <= INT64_MAX ? "int64" : "uint64", from.number, 8);
      case msgpack_kind::binary: break;
    }
    return strange("a leaf of bytes");
  }

  result<void> text(const msgpack_head& of) {
    ZARRPOINT_TRY(read, in_.text(of.number));
    if (!read.starts_with(placeholder_mark)) {
      ZARRPOINT_TRY(made, add(aggregate_kind::text, "string"));
      made->text = std::move(read);
      return {};
    }
    ZARRPOINT_TRY(made, add(aggregate_kind::placeholder, "np.ndarray"));
    made->leaf.is_skipped = false;
    made->leaf.storage = made->text = read.substr(placeholder_mark.size());
    return {};
  }

  result<void> scalar(std::string_view type, std::uint64_t bits, std::size_t size) {
    ZARRPOINT_TRY(made, add(aggregate_kind::array, "scalar"));
    made->array->type = type;
    append(made->text, bits, size);
    return {};
  }

  static void append(std::string& to, std::uint64_t bits, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) to += static_cast<char>(bits >> (8 * i) & 0xffU);
  }

  result<void> members(const msgpack_head& of, int depth) {
    ZARRPOINT_TRY(pairs, children(of, 2));
    if (pairs == 0) return add_empty("Dict");
    for (std::uint64_t i = 0; i < pairs; ++i) {
      ZARRPOINT_TRY(key, name());
      if (i == 0 && key == chunked_mark) return chunked(pairs);
      ZARRPOINT_CHECK(child({std::move(key), false}, depth));
    }
    return {};
  }

  result<void> sequence(const msgpack_head& of, int depth, std::string_view value_type) {
    ZARRPOINT_TRY(size, children(of, 1));
    if (size == 0) return add_empty(value_type);
    for (std::uint64_t i = 0; i < size; ++i)
      ZARRPOINT_CHECK(child({std::to_string(i), true}, depth));
    return {};
  }

  result<void> child(tree_key key, int depth) {
    path_.push_back(std::move(key));
    std::size_t size = 0;
    for (const tree_key& step : path_) size += step.text.size() + 1;
    if (size > store_key::max_size + 1)
      return strange("a leaf has a path of more than " + std::to_string(store_key::max_size) +
                     " bytes");
    ZARRPOINT_CHECK(value(depth + 1));
    path_.pop_back();
    return {};
  }

  /// What Flax puts into extensions: a value of msgpack each.
  result<void> extension(int type, int depth) {
    switch (type) {
      case 1:
      case 3: {
        ZARRPOINT_TRY(made, add(aggregate_kind::array, type == 1 ? "np.ndarray" : "scalar"));
        return ndarray(*made->array);
      }
      case 2: return complex();
      case 4: {
        ZARRPOINT_TRY(from, in_.head());
        if (from.kind != msgpack_kind::array) return damaged("a tuple that is not an array");
        return sequence(from, depth, "Tuple");
      }
      default: return strange("an extension of type " + std::to_string(type));
    }
  }

  result<void> complex() {
    ZARRPOINT_TRY(made, add(aggregate_kind::array, "scalar"));
    made->array->type = "complex128";
    ZARRPOINT_TRY(pair, in_.head());
    if (pair.kind != msgpack_kind::array || pair.number != 2)
      return damaged("a complex number that is not a pair");
    for (int i = 0; i < 2; ++i) {
      ZARRPOINT_TRY(part, in_.head());
      if (part.kind != msgpack_kind::real) return damaged("a complex number of other than floats");
      append(made->text, part.number, 8);
    }
    return {};
  }

  result<void> add_length(std::vector<index_t>& to) {
    ZARRPOINT_TRY(from, in_.head());
    if (from.kind != msgpack_kind::integer || from.number > INT64_MAX || to.size() == max_rank)
      return damaged("a shape that is not one of an array");
    to.push_back(static_cast<index_t>(from.number));
    return {};
  }

  /// What NumPy and ml_dtypes call a type is what Zarr v3 calls it, for those that it has.
  static result<std::uint64_t> byte_size(const std::string& type,
                                         const std::vector<index_t>& shape) {
    const auto parsed = v0::detail::parse_data_type_v3(node(type));
    if (!parsed || parsed->size() == 0)
      return strange("an array of the type " + v0::detail::in_quotes(type));
    std::uint64_t out = parsed->size();
    for (const index_t each : shape) {
      ZARRPOINT_TRY(size, checked_mul(out, static_cast<std::uint64_t>(each)));
      out = size;
    }
    return out;
  }

  /// (shape, name of the type, elements).
  result<void> ndarray(aggregate_array& to) {
    const error other{errc::corrupt, "an array without its shape, type and elements"};
    ZARRPOINT_TRY(triple, in_.head());
    if (triple.kind != msgpack_kind::array || triple.number != 3) return other;
    ZARRPOINT_TRY(axes, in_.head());
    if (axes.kind != msgpack_kind::array) return other;
    for (std::uint64_t i = 0; i < axes.number; ++i) ZARRPOINT_CHECK(add_length(to.shape));
    const auto is_bytes = [](const msgpack_head& at) {
      return at.kind == msgpack_kind::text || at.kind == msgpack_kind::binary;
    };
    ZARRPOINT_TRY(named, in_.head());
    if (!is_bytes(named)) return damaged("an array without a type");
    ZARRPOINT_TRY(type, in_.bytes(named.number));
    to.type = std::move(type);
    ZARRPOINT_TRY(wanted, byte_size(to.type, to.shape));
    ZARRPOINT_TRY(held, in_.head());
    if (!is_bytes(held) || held.number != wanted)
      return damaged("an array of " + std::to_string(wanted) + " bytes has " +
                     std::to_string(is_bytes(held) ? held.number : 0));
    if (wanted > 0) to.pieces.push_back({in_.at(), wanted});
    return in_.skip(wanted);
  }

  /// An array of more than a gigabyte: maps of its lengths, and of flat arrays, by their numbers.
  result<void> chunked(std::uint64_t pairs) {
    ZARRPOINT_TRY(mark, in_.head());
    if (pairs != 3 || mark.kind != msgpack_kind::boolean)
      return damaged("an array of several pieces without its members");
    ZARRPOINT_TRY(leaf, add(aggregate_kind::array, "np.ndarray"));
    aggregate_array* const made = leaf->array.get();
    ZARRPOINT_CHECK(numbered("shape", [&] { return add_length(made->shape); }));
    std::uint64_t total = 0;  // of parts of the file
    ZARRPOINT_CHECK(numbered("chunks", [&]() -> result<void> {
      ZARRPOINT_TRY(from, in_.head());
      if (from.kind != msgpack_kind::extension || from.extension != 1)
        return damaged("a piece that is not an array");
      aggregate_array piece;
      ZARRPOINT_CHECK(in_.within(from.number, [&] { return ndarray(piece); }));
      if (!made->type.empty() && made->type != piece.type)
        return damaged("pieces of several types");
      made->type = std::move(piece.type);
      for (const aggregate_piece& each : piece.pieces) {
        total += each.size;
        made->pieces.push_back(each);
      }
      return {};
    }));
    ZARRPOINT_TRY(wanted, byte_size(made->type, made->shape));
    if (total != wanted) return damaged("the pieces of an array are not all of it");
    return {};
  }

  /// The member `name`, a map from "0" on.
  template <class F>
  result<void> numbered(std::string_view member, F&& each) {
    ZARRPOINT_TRY(key, name());
    ZARRPOINT_TRY(from, in_.head());
    if (key != member || from.kind != msgpack_kind::map)
      return damaged("an array of several pieces without its " + std::string(member));
    ZARRPOINT_TRY(size, elements(from, 2));
    for (std::uint64_t i = 0; i < size; ++i) {
      ZARRPOINT_TRY(index, name());
      if (index != std::to_string(i)) return damaged("the pieces of an array are not in order");
      ZARRPOINT_CHECK(each());
    }
    return {};
  }

  msgpack_input in_;
  std::vector<tree_key> path_;
  aggregate_leaves out_;
};

/// Pieces of a file, one after another.
class aggregate_blob final : public blob {
 public:
  aggregate_blob(std::shared_ptr<const blob> file, std::vector<aggregate_piece> pieces)
      : file_(std::move(file)), pieces_(std::move(pieces)) {
    for (const aggregate_piece& each : pieces_) size_ += each.size;
  }

  std::uint64_t size() const noexcept override { return size_; }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    for (const aggregate_piece& each : pieces_) {
      if (into.empty()) break;
      if (offset >= each.size) {
        offset -= each.size;
        continue;
      }
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), each.size - offset));
      ZARRPOINT_CHECK(file_->read(each.offset + offset, into.first(size)));
      into = into.subspan(size);
      offset = 0;
    }
    return {};
  }

  std::string name() const override { return file_->name(); }

 private:
  std::shared_ptr<const blob> file_;
  std::vector<aggregate_piece> pieces_;
  std::uint64_t size_ = 0;
};

ZARRPOINT_INLINE result<aggregate_leaves> read_aggregate(const blob& file) {
  return aggregate_reader(file).run();
}

ZARRPOINT_INLINE result<bool> is_aggregate(const blob& file) {
  if (file.size() == 0) return false;
  std::array<std::byte, 1> first{};
  ZARRPOINT_CHECK(file.read(0, first));
  const auto mark = std::to_integer<unsigned>(first[0]);
  return (mark >= 0x80 && mark < 0x90) || mark == 0xde || mark == 0xdf;
}

ZARRPOINT_INLINE std::unique_ptr<blob> aggregate_elements(std::shared_ptr<const blob> file,
                                                          std::vector<aggregate_piece> pieces) {
  return std::make_unique<aggregate_blob>(std::move(file), std::move(pieces));
}

}}}}  // namespace zarrpoint::v0::orbax::detail
