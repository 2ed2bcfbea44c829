// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/base/table.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------------- spec.hpp

ZARRPOINT_INLINE configuration_fields::configuration_fields(const json& from) : from_(&from) {
  if (!from.is_null() && from.if_object() == nullptr) fail("configuration is not an object");
}

ZARRPOINT_INLINE const json* configuration_fields::find(std::string_view key) {
  const json::object* const members = from_ == nullptr ? nullptr : from_->if_object();
  for (std::size_t i = 0; members != nullptr && i < members->size() && i < 64; ++i) {
    if ((*members)[i].key != key) continue;
    seen_ |= std::uint64_t{1} << i;
    return &(*members)[i].value;
  }
  return nullptr;
}

ZARRPOINT_INLINE void configuration_fields::put(std::string_view key, json value) {
  if (!reads()) written_.set(std::string(key), std::move(value));
}

ZARRPOINT_INLINE void configuration_fields::need(std::string_view key) {
  if (reads() && find(key) == nullptr) fail('"' + std::string(key) + "\" is missing");
}

ZARRPOINT_INLINE void configuration_fields::boolean(std::string_view key, bool& value) {
  put(key, value);
  const json* const found = find(key);
  if (found == nullptr) return;
  if (const bool* const given = found->if_bool()) {
    value = *given;
  } else {
    wrong(key, "true or false");
  }
}

ZARRPOINT_INLINE void configuration_fields::text(std::string_view key, std::string& value) {
  put(key, value);
  const json* const found = find(key);
  if (found == nullptr) return;
  if (const std::string* const given = found->if_string()) {
    value = *given;
  } else {
    wrong(key, "a string");
  }
}

ZARRPOINT_INLINE void configuration_fields::number(std::string_view key, double& value) {
  put(key, value);
  const json* const found = find(key);
  if (found == nullptr) return;
  const std::optional<double> given = found->to_double();
  if (given && *given - *given == 0) {
    value = *given;
  } else {
    wrong(key, "a number");
  }
}

ZARRPOINT_INLINE std::int64_t configuration_fields::whole(std::string_view key, std::int64_t value,
                                                          std::int64_t low, std::int64_t high) {
  put(key, value);
  const json* const found = find(key);
  if (found == nullptr) return value;
  std::optional<std::int64_t> given = found->to_int64();
  // Some writers have 3.0 for 3.
  const double number = found->to_double().value_or(0.5);
  if (!given && number > -0x1p53 && number < 0x1p53 &&
      number == static_cast<double>(static_cast<std::int64_t>(number)))
    given = static_cast<std::int64_t>(number);
  if (given && *given >= low && *given <= high) return *given;
  wrong(key, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

ZARRPOINT_INLINE std::size_t configuration_fields::name_of(std::string_view key, std::size_t value,
                                                           const named& how) {
  if (!reads()) {
    if (how.put) put(key, how.names[value]);
    return value;
  }
  const json* const found = find(key);
  if (found == nullptr) return value;
  const std::string* const given = found->if_string();
  std::string expected;
  for (std::size_t i = 0; i < how.names.size(); ++i) {
    if (given != nullptr && *given == how.names[i]) return i;
    if (i != 0) expected += i + 1 == how.names.size() ? " or " : ", ";
    expected.append("\"").append(how.names[i]) += '"';
  }
  wrong(key, expected);
  return value;
}

ZARRPOINT_INLINE void configuration_fields::wrong(std::string_view key, std::string_view expected) {
  std::string message("\"");
  message.append(key) += "\" is ";
  const json& found = *find(key);
  if (const std::string* const text = found.if_string()) {
    message += detail::in_quotes(*text) + ", ";
  } else if (const std::optional<std::int64_t> number = found.to_int64()) {
    message += std::to_string(*number) + ", ";
  }
  fail(message.append("not ").append(expected));
}

ZARRPOINT_INLINE void configuration_fields::fail(error failure) {
  if (status_) status_ = std::move(failure);
}

ZARRPOINT_INLINE void configuration_fields::fail(std::string_view why) {
  fail(error{errc::invalid_argument, std::string(why)});
}

ZARRPOINT_INLINE result<void> configuration_fields::end() {
  ZARRPOINT_CHECK(names());
  return std::move(status_);
}

ZARRPOINT_INLINE result<void> configuration_fields::names() const {
  const json::object* const members = from_ == nullptr ? nullptr : from_->if_object();
  if (members == nullptr) return {};
  for (std::size_t i = 0; i < members->size(); ++i) {
    if (i >= 64 || (seen_ >> i & 1) == 0)
      return error{errc::invalid_argument,
                   "unknown configuration member " + detail::in_quotes((*members)[i].key)};
  }
  return {};
}

ZARRPOINT_INLINE codec_spec::codec_spec(std::string called, json configured, bool needed)
    : name(std::move(called)), configuration(std::move(configured)), must_understand(needed) {
  if (!configuration.is_integer()) return;
  json level = std::move(configuration);
  if (name == "blosc") {
    configuration = json::object{
        {"cname", "zstd"}, {"clevel", std::move(level)}, {"shuffle", "shuffle"}, {"blocksize", 0}};
  } else {
    configuration = json::object{{"level", std::move(level)}};
    if (name == "zstd") configuration.set("checksum", false);
  }
}

}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 { namespace detail {

// ----------------------------------------------------------------------------------- workspace.hpp

ZARRPOINT_INLINE scratch_tensor::scratch_tensor(scratch_tensor&& other) noexcept
    : view_(std::move(other.view_)), strings_(std::exchange(other.strings_, 0)) {}

ZARRPOINT_INLINE result<scratch_tensor> scratch_tensor::make(const tensor_spec& spec,
                                                             codec_workspace& scratch,
                                                             std::size_t slot) {
  ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
  ZARRPOINT_TRY(memory, scratch.scratch(slot, bytes));
  scratch_tensor out;
  out.view_ = dense_view(memory.data(), spec);
  if (spec.type.is_variable()) {
    out.strings_ = bytes / sizeof(std::string);
    std::uninitialized_value_construct_n(out.first(), out.strings_);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE codec_workspace::codec_workspace(memory_resource& from,
                                                  std::uint64_t variable_limit,
                                                  limited_resource* text)
    : resource_(&from), variable_limit_(variable_limit), text_budget_(text) {}

ZARRPOINT_INLINE result<mutable_bytes> codec_workspace::scratch(std::size_t slot,
                                                                std::size_t bytes) {
  while (slots_.size() <= slot) slots_.emplace_back();
  buffer& held = slots_[slot];
  if (held.size() < bytes) {
    held = {};  // first, so that a budget need not hold both
    ZARRPOINT_TRY(grown, buffer::allocate(bytes, *resource_));
    held = std::move(grown);
  }
  return held.bytes().first(bytes);
}

ZARRPOINT_INLINE codec_workspace& codec_workspace::nested() {
  if (nested_ == nullptr) {
    nested_ = std::make_unique<codec_workspace>(*resource_, variable_limit_);
  }
  nested_->outer_ = this;  // which may have been moved
  return *nested_;
}

ZARRPOINT_INLINE void codec_workspace::keep_only(bytes_view bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  for (buffer& one : slots_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(one.data());
    if (at < begin || at - begin >= one.size()) one = {};
  }
  if (nested_ != nullptr) nested_->keep_only(bytes);
  states_.clear();
}

ZARRPOINT_INLINE std::size_t codec_workspace::held() const noexcept {
  std::size_t bytes = nested_ != nullptr ? nested_->held() : 0;
  for (const buffer& one : slots_) bytes += one.size();
  return bytes;
}

ZARRPOINT_INLINE void* codec_workspace::find_state(char* key) const noexcept {
  for (const kept& one : states_) {
    if (one.key == key) return one.value.get();
  }
  return nullptr;
}

ZARRPOINT_INLINE void* codec_workspace::keep_state(char* key, any_state made) {
  return states_.emplace_back(kept{key, std::move(made)}).value.get();
}

ZARRPOINT_INLINE result<void> codec_workspace::charge_text(std::size_t bytes) {
  if (outer_ != nullptr) return outer_->charge_text(bytes);
  if (text_budget_ == nullptr) return {};
  if (!text_budget_->charge(bytes))
    return error{errc::resource_limit, std::to_string(bytes) + " bytes of text, with " +
                                           std::to_string(text_budget_->in_use()) +
                                           " bytes of the limit of " +
                                           std::to_string(text_budget_->limit()) + " in use"};
  charged_text_ += bytes;
  return {};
}

// ----------------------------------------------------------------------------------- any_codec.hpp

namespace detail {

ZARRPOINT_INLINE error no_such_part() {
  return {errc::unsupported, "the codec does not offer this operation"};
}

}  // namespace detail

ZARRPOINT_INLINE result<any_codec> any_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_TRY(bound, self_->resolve(decoded));
  return any_codec(std::move(bound));
}

ZARRPOINT_INLINE const detail::erased_array_codec* any_codec::if_array_to_array() const {
  return as<detail::erased_array_codec>(codec_kind::array_to_array);
}

ZARRPOINT_INLINE const detail::erased_array_bytes_codec* any_codec::if_array_to_bytes() const {
  return as<detail::erased_array_bytes_codec>(codec_kind::array_to_bytes);
}

ZARRPOINT_INLINE const detail::erased_bytes_codec* any_codec::if_bytes_to_bytes() const {
  return as<detail::erased_bytes_codec>(codec_kind::bytes_to_bytes);
}

}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 { namespace detail {

// -------------------------------------------------------------------------------- known_codecs.hpp

ZARRPOINT_INLINE std::string about_codec(std::string_view name) {
  constexpr std::string_view prefix = "numcodecs.";
  const bool is_prefixed = name.starts_with(prefix);
  if (is_prefixed) name.remove_prefix(prefix.size());
  for (const known_codec& one : known_codecs) {
    if (name != one.name) continue;
    // No header has a codec of that name.
    if (!is_prefixed && one.spelling == v3_spelling::prefixed)
      return std::string(" (in Zarr v3 its name is \"numcodecs.").append(name) + "\")";
    const codec_door_note& door = codec_doors[static_cast<std::size_t>(one.door)];
    return std::string(" (include <zarrpoint/").append(door.header) + "> and use " + door.codecs +
           ")";
  }
  for (const codec_refusal& one : refused_codecs) {
    const bool is_prefix =
        one.name.ends_with('.') || one.name.ends_with('_') || one.name.ends_with(':');
    if (is_prefix ? name.starts_with(one.name) : name == one.name)
      return std::string(" (not in this library: ").append(one.reason) + ")";
  }
  return " (not in this library; a codec of your own is added by default_codecs::with<C>)";
}

}}}  // namespace zarrpoint::v0::detail

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------------- table.hpp

ZARRPOINT_INLINE result<any_codec> codec_table::make(const codec_spec& spec,
                                                     const tensor_spec* decoded,
                                                     bytes_view fill) const {
  const codec_entry* const entry = find(spec.name);
  if (entry == nullptr) {
    std::string text =
        "unknown codec " + detail::in_quotes(spec.name) + detail::about_codec(spec.name);
    constexpr std::size_t shown = 12;
    for (std::size_t i = 0; i < entries_.size() && i < shown; ++i)
      text.append(i == 0 ? "; known are " : ", ").append(entries_[i].name);
    if (entries_.empty()) text += "; the table of codecs is empty";
    if (entries_.size() > shown)
      text += " and " + std::to_string(entries_.size() - shown) + " more";
    return error{errc::unsupported, std::move(text)};
  }
  return entry->make(spec.configuration, {*this, decoded, fill})
      .at("codec " + detail::in_quotes(spec.name));
}

// --------------------------------------------------------------------------------------- chain.hpp

ZARRPOINT_INLINE result<codec_chain> codec_chain::resolve(std::span<const codec_spec> codecs,
                                                          const tensor_spec& chunk,
                                                          const codec_table& known) {
  return resolve(codecs, chunk, detail::table_codecs(known), {});
}

ZARRPOINT_INLINE bool codec_chain::ends_with_crc32c() const {
  return !byte_codecs_.empty() && byte_codecs_.back().name() == "crc32c";
}

ZARRPOINT_INLINE std::optional<mutable_bytes> codec_chain::direct_target(
    const mutable_host_view& into) const {
  if (!raw_ || into.spec() != chunk_) return std::nullopt;
  return array_bytes().target(array_target(into));
}

ZARRPOINT_INLINE bool codec_chain::decodes_into(const mutable_host_view& into) const {
  if (into.spec() != chunk_ || !views_only_) return false;
  const auto in_place = [](const any_codec& one) { return one.if_bytes_to_bytes()->in_place(); };
  return std::all_of(byte_codecs_.begin(), byte_codecs_.end(), in_place) ||
         (!byte_codecs_.front().if_bytes_to_bytes()->in_place() &&
          array_bytes().target(array_target(into)).has_value());
}

ZARRPOINT_INLINE const detail::erased_array_bytes_codec& codec_chain::array_bytes() const {
  return *array_bytes_codec_.front().if_array_to_bytes();
}

ZARRPOINT_INLINE result<std::size_t> codec_chain::as_corrupt(error failure) {
  if (failure.code == errc::out_of_range) failure.code = errc::corrupt;
  return failure;
}

ZARRPOINT_INLINE error codec_chain::wrong_size(std::uint64_t made, std::uint64_t expected) {
  return {errc::corrupt,
          std::to_string(made) + " bytes decoded, " + std::to_string(expected) + " expected"};
}

ZARRPOINT_INLINE error codec_chain::over_limit(std::uint64_t bytes, std::uint64_t limit,
                                               bool variable) {
  return {variable ? errc::resource_limit : errc::corrupt, "decodes to " + std::to_string(bytes) +
                                                               " bytes or more; the limit is " +
                                                               std::to_string(limit)};
}

ZARRPOINT_INLINE result<codec_chain> codec_chain::resolve(std::span<const codec_spec> codecs,
                                                          const tensor_spec& chunk,
                                                          const detail::codec_source& known,
                                                          bytes_view fill) {
  if (codecs.size() > max_codecs)
    return error{errc::unsupported, "a chain may have " + std::to_string(max_codecs) +
                                        " codecs; this one has " + std::to_string(codecs.size())};
  ZARRPOINT_CHECK(byte_count(chunk));
  codec_chain out;
  out.chunk_ = chunk;
  tensor_spec spec = chunk;
  std::vector<std::byte> encoded_fill(fill.begin(), fill.end());
  for (const codec_spec& one : codecs) {
    if (!one.must_understand && !known.knows(one.name)) {
      out.skipped_ = detail::in_quotes(one.name);
      continue;
    }
    ZARRPOINT_TRY(made, known.make(one, spec, encoded_fill));
    ZARRPOINT_CHECK(out.add(made, spec, encoded_fill).at("codec " + detail::in_quotes(one.name)));
  }
  if (out.array_bytes_codec_.empty())
    return error{errc::invalid_argument,
                 "codecs: one of them must turn elements into bytes, such as \"bytes\""};
  for (const any_codec& one : out.array_codecs_)
    out.views_only_ = out.views_only_ && one.if_array_to_array()->has_views();
  // A transpose that leaves the memory as it is keeps the chain raw.
  std::byte anchor{};
  const mutable_host_view seen = out.array_target(dense_view(&anchor, chunk));
  out.raw_ = out.views_only_ && seen.data == &anchor && is_dense(seen) &&
             out.byte_codecs_.empty() && out.array_bytes().is_raw(spec);
  return out;
}

/// Appends one codec; `spec` and `fill` are what it will encode, and become what it makes.
ZARRPOINT_INLINE result<void> codec_chain::add(const any_codec& made, tensor_spec& spec,
                                               std::vector<std::byte>& fill) {
  ZARRPOINT_TRY(bound, made.resolve(spec));
  if (const auto* const array = bound.if_array_to_array()) {
    if (!array_bytes_codec_.empty())
      return error{errc::invalid_argument,
                   "works on elements, but comes after the codec that makes bytes"};
    if (!array->moves_elements() && spec.type.is_variable())
      return error{errc::unsupported, "does not work on strings"};
    if (!fill.empty()) {
      // Only shards ask for it, and say so when it is not known.
      auto encoded = array->encode_fill(fill, spec);
      fill = encoded ? *std::move(encoded) : std::vector<std::byte>();
    }
    spec = array->encoded_spec(spec);
    ZARRPOINT_CHECK(byte_count(spec));
    array_specs_.push_back(spec);
    array_codecs_.push_back(std::move(bound));
  } else if (const auto* const to_bytes = bound.if_array_to_bytes()) {
    if (!array_bytes_codec_.empty())
      return error{errc::invalid_argument,
                   "works on elements, but comes after the codec that makes bytes"};
    sizes_.push_back({to_bytes->encoded_bound(spec), to_bytes->fixed_size()});
    array_bytes_codec_.push_back(std::move(bound));
  } else {
    if (array_bytes_codec_.empty())
      return error{errc::invalid_argument,
                   "works on bytes, but comes before the codec that makes bytes"};
    const auto* const bytes = bound.if_bytes_to_bytes();
    const byte_size before = sizes_.back();
    const std::uint64_t after =
        before.bound == UINT64_MAX ? UINT64_MAX : bytes->encoded_bound(before.bound);
    sizes_.push_back({after, before.exact && bytes->fixed_size() && after != UINT64_MAX});
    byte_codecs_.push_back(std::move(bound));
  }
  return {};
}

ZARRPOINT_INLINE result<void> codec_chain::check_spec(const tensor_spec& given) const {
  if (given.type != chunk_.type)
    return error{errc::dtype_mismatch,
                 to_string(given) + " given for a chunk of " + to_string(chunk_)};
  if (given.shape != chunk_.shape)
    return error{errc::shape_mismatch,
                 to_string(given) + " given for a chunk of " + to_string(chunk_)};
  return {};
}

/// The view that the array -> bytes codec works on, when every codec before it only looks.
ZARRPOINT_INLINE mutable_host_view codec_chain::array_target(mutable_host_view into) const {
  for (const any_codec& one : array_codecs_) into = one.if_array_to_array()->decode_view(into);
  return into;
}

ZARRPOINT_INLINE result<bytes_view> codec_chain::encode(const host_view& chunk,
                                                        workspace& scratch) const {
  if (!can_encode()) return error{errc::unsupported, "cannot encode without codec " + skipped_};
  ZARRPOINT_CHECK(check_spec(chunk.spec()));
  return encode_arrays(0, chunk, scratch);
}

ZARRPOINT_INLINE result<std::uint64_t> codec_chain::encoded_bound(const host_view& chunk) const {
  if (encoded_bound() != UINT64_MAX) return encoded_bound();
  host_view view = chunk;
  bool is_seen = true;
  for (const any_codec& one : array_codecs_) {
    const detail::erased_array_codec& array = *one.if_array_to_array();
    if (array.has_views()) {
      view = array.encode_view(view);
    } else if (auto same = array.borrow(view)) {
      view = *same;
    } else {
      is_seen = false;  // the same strings in another shape, which only shards look at
      break;
    }
  }
  if (!is_seen && array_bytes().name() == "sharding_indexed")
    return error{errc::unsupported, "reshaped strings cannot be written to shards within shards"};
  ZARRPOINT_TRY(bytes, array_bytes().encoded_size(view).at(array_bytes().name()));
  for (const any_codec& one : byte_codecs_) bytes = one.if_bytes_to_bytes()->encoded_bound(bytes);
  return bytes;
}

/// Codec `i` and those after it.
ZARRPOINT_INLINE result<bytes_view> codec_chain::encode_arrays(std::size_t i, const host_view& view,
                                                               workspace& scratch) const {
  if (i == array_codecs_.size()) return encode_bytes(view, scratch);
  const detail::erased_array_codec& one = *array_codecs_[i].if_array_to_array();
  if (one.has_views()) return encode_arrays(i + 1, one.encode_view(view), scratch);
  if (const auto same = one.borrow(view)) return encode_arrays(i + 1, *same, scratch);
  ZARRPOINT_TRY(made, detail::scratch_tensor::make(array_specs_[i], scratch, first_array_slot + i));
  ZARRPOINT_CHECK(one.encode(view, made.view(), scratch).at(one.name()));
  return encode_arrays(i + 1, as_const(made.view()), scratch);
}

/// `bytes` and what the in-place codecs from `i` on will add to them.
ZARRPOINT_INLINE result<std::size_t> codec_chain::with_room(std::size_t i,
                                                            std::uint64_t bytes) const {
  for (; i < byte_codecs_.size() && byte_codecs_[i].if_bytes_to_bytes()->in_place(); ++i)
    bytes = byte_codecs_[i].if_bytes_to_bytes()->encoded_bound(bytes);
  if (bytes > static_cast<std::uint64_t>(PTRDIFF_MAX))
    return error{errc::out_of_range, "the chunk is too large to be encoded"};
  return static_cast<std::size_t>(bytes);
}

ZARRPOINT_INLINE result<bytes_view> codec_chain::encode_bytes(const host_view& view,
                                                              workspace& scratch) const {
  const detail::erased_array_bytes_codec& first = array_bytes();
  bytes_view data;
  mutable_bytes held;  // the scratch memory that `data` is the beginning of
  bool borrowed = true;
  std::size_t slot = 0;
  if (const std::optional<bytes_view> same = first.borrow(view)) {
    data = *same;
  } else {
    ZARRPOINT_TRY(size, first.encoded_size(view).at(first.name()));
    ZARRPOINT_TRY(room, with_room(0, size));
    ZARRPOINT_TRY(memory, scratch.scratch(first_bytes_slot, room));
    ZARRPOINT_TRY(written, first.encode(view, memory.first(size), scratch).at(first.name()));
    held = memory;
    data = held.first(written);
    borrowed = false;
  }
  for (std::size_t i = 0; i < byte_codecs_.size(); ++i) {
    const detail::erased_bytes_codec& one = *byte_codecs_[i].if_bytes_to_bytes();
    const std::size_t other = borrowed ? slot : 1 - slot;
    if (one.in_place()) {
      if (borrowed) {
        ZARRPOINT_TRY(room, with_room(i, data.size()));
        ZARRPOINT_TRY(memory, scratch.scratch(first_bytes_slot + slot, room));
        if (!data.empty()) std::memcpy(memory.data(), data.data(), data.size());
        held = memory;
        borrowed = false;
      }
      ZARRPOINT_TRY(used, one.encode_in_place(held, data.size()).at(one.name()));
      data = held.first(used);
      continue;
    }
    const std::uint64_t bound = one.encoded_bound(data.size());
    ZARRPOINT_TRY(room, with_room(i + 1, bound));
    ZARRPOINT_TRY(memory, scratch.scratch(first_bytes_slot + other, room));
    ZARRPOINT_TRY(written, one.encode(data, memory.first(bound), scratch).at(one.name()));
    held = memory;
    data = held.first(written);
    borrowed = false;
    slot = other;
  }
  return data;
}

ZARRPOINT_INLINE result<void> codec_chain::decode(bytes_view stored, const mutable_host_view& into,
                                                  workspace& scratch) const {
  ZARRPOINT_CHECK(check_spec(into.spec()));
  if (fixed_size() && stored.size() != encoded_bound())
    return error{errc::corrupt, std::to_string(stored.size()) + " bytes stored for a chunk of " +
                                    to_string(chunk_) + ", which takes " +
                                    std::to_string(encoded_bound())};
  return decode_arrays(0, stored, into, scratch);
}

ZARRPOINT_INLINE result<void> codec_chain::decode_arrays(std::size_t i, bytes_view stored,
                                                         const mutable_host_view& into,
                                                         workspace& scratch) const {
  if (i == array_codecs_.size()) return decode_bytes(stored, into, scratch);
  const detail::erased_array_codec& one = *array_codecs_[i].if_array_to_array();
  if (one.has_views()) return decode_arrays(i + 1, stored, one.decode_view(into), scratch);
  if (const auto same = one.target(into)) return decode_arrays(i + 1, stored, *same, scratch);
  ZARRPOINT_TRY(encoded,
                detail::scratch_tensor::make(array_specs_[i], scratch, first_array_slot + i));
  ZARRPOINT_CHECK(decode_arrays(i + 1, stored, encoded.view(), scratch));
  return one.decode(as_const(encoded.view()), into, scratch).at(one.name());
}

ZARRPOINT_INLINE result<void> codec_chain::decode_bytes(bytes_view stored,
                                                        const mutable_host_view& into,
                                                        workspace& scratch) const {
  const detail::erased_array_bytes_codec& first = array_bytes();
  std::size_t slot = 0;
  for (std::size_t i = byte_codecs_.size(); i-- > 0;) {
    const detail::erased_bytes_codec& one = *byte_codecs_[i].if_bytes_to_bytes();
    if (i == 0 && !one.in_place()) {
      // The last step makes the elements where they are wanted, if they are stored as they lie.
      if (const std::optional<mutable_bytes> target = first.target(into)) {
        ZARRPOINT_TRY(written,
                      one.decode(stored, *target, scratch).or_else(as_corrupt).at(one.name()));
        if (written == target->size()) return {};
        return wrong_size(written, target->size()).at(one.name());
      }
    }
    ZARRPOINT_TRY(decoded, decode_step(i, stored, slot, scratch).at(one.name()));
    stored = decoded;
    if (!one.in_place()) slot = 1 - slot;
  }
  return first.decode(stored, into, scratch).at(first.name());
}

/// Undoes byte codec `i` into scratch memory, or where the bytes are.
ZARRPOINT_INLINE result<bytes_view> codec_chain::decode_step(std::size_t i, bytes_view stored,
                                                             std::size_t slot,
                                                             workspace& scratch) const {
  const detail::erased_bytes_codec& one = *byte_codecs_[i].if_bytes_to_bytes();
  const byte_size size = sizes_[i];
  if (one.in_place()) {
    ZARRPOINT_TRY(body, one.decode_in_place(stored));
    if (size.exact && body.size() != size.bound) return wrong_size(body.size(), size.bound);
    return body;
  }
  if (size.exact) {
    ZARRPOINT_TRY(memory, scratch.scratch(first_bytes_slot + slot, size.bound));
    ZARRPOINT_TRY(written, one.decode(stored, memory, scratch).or_else(as_corrupt));
    if (written != size.bound) return wrong_size(written, size.bound);
    return bytes_view(memory);
  }
  // Neither the chain nor, to be trusted, the bytes say how much this makes. Memory grows with what
  // has proved too little, so that a few bytes that claim to be many cost next to nothing.
  const bool variable = size.bound == UINT64_MAX;
  const std::uint64_t limit = variable ? scratch.variable_limit() : size.limit();
  const std::uint64_t claimed = one.decoded_size(stored).value_or(limit);
  if (claimed > limit) return over_limit(claimed, limit, variable);
  constexpr std::uint64_t first_guess = 64 * 1024;
  std::uint64_t room = std::min(claimed, std::max<std::uint64_t>(first_guess, 16 * stored.size()));
  while (true) {
    ZARRPOINT_TRY(memory, scratch.scratch(first_bytes_slot + slot, room));
    auto written = one.decode(stored, memory, scratch);
    if (written) return bytes_view(memory.first(*written));
    if (written.failure().code != errc::out_of_range) return std::move(written).failure();
    if (room == claimed) return over_limit(room + 1, limit, variable);
    room = room > claimed / 4 ? claimed : room * 4;
  }
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/memory/bodies.hpp>
#endif
