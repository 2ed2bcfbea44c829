// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/core/utf8.hpp>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------------- json.hpp

ZARRPOINT_INLINE void json::make_null() noexcept { uint64_ = 0, kind_ = kind::null; }
ZARRPOINT_INLINE void json::make_bool(bool v) noexcept {
  uint64_ = 0;  // all of what `share` copies
  bool_ = v, kind_ = kind::boolean;
}
ZARRPOINT_INLINE void json::make_int(std::int64_t v) noexcept { int64_ = v, kind_ = kind::int64; }
ZARRPOINT_INLINE void json::make_uint(std::uint64_t v) noexcept {
  if (v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return make_int(static_cast<std::int64_t>(v));
  uint64_ = v, kind_ = kind::uint64;
}
ZARRPOINT_INLINE void json::make_double(double v) noexcept { double_ = v, kind_ = kind::number; }
ZARRPOINT_INLINE void json::make_string(std::string& v) noexcept {
  ::new (static_cast<void*>(&text_)) std::string(std::move(v));
  kind_ = kind::text;
}
ZARRPOINT_INLINE void json::make_text(std::string_view v) {
  ::new (static_cast<void*>(&text_)) std::string(v);
  kind_ = kind::text;
}
ZARRPOINT_INLINE void json::make_array(array& v) noexcept {
  ::new (static_cast<void*>(&array_)) array(std::move(v));
  kind_ = kind::list;
}
ZARRPOINT_INLINE void json::make_object(object& v) noexcept {
  ::new (static_cast<void*>(&object_)) object(std::move(v));
  kind_ = kind::members;
}
ZARRPOINT_INLINE void json::copy_from(const json& o) {
  if (o.kind_ == kind::text) return make_text(o.text_);
  if (o.kind_ == kind::list) {
    array copied = o.array_;
    return make_array(copied);
  }
  if (o.kind_ == kind::members) {
    object copied = o.object_;
    return make_object(copied);
  }
  kind_ = o.kind_;
  share(o);
}
ZARRPOINT_INLINE void json::move_owned(json& o) noexcept {
  if (o.kind_ == kind::text) return make_string(o.text_);
  if (o.kind_ == kind::list) return make_array(o.array_);
  make_object(o.object_);
}
ZARRPOINT_INLINE void json::assign(const json& o) {
  json copied = o;
  take(copied);
}
ZARRPOINT_INLINE void json::take(json& o) noexcept {
  json moved(std::move(o));  // which may lie within this one
  this->~json();
  ::new (static_cast<void*>(this)) json(std::move(moved));
}
ZARRPOINT_INLINE void json::destroy() noexcept {
  if (kind_ == kind::text) return text_.~basic_string();
  if (kind_ == kind::list) return array_.~array();
  object_.~object();
}
ZARRPOINT_INLINE bool json::equals(const json& o) const {
  if (kind_ != o.kind_) return false;
  switch (kind_) {
    case kind::null: break;
    case kind::boolean: return bool_ == o.bool_;
    case kind::int64: return int64_ == o.int64_;
    case kind::uint64: return uint64_ == o.uint64_;
    case kind::number: return double_ == o.double_;
    case kind::text: return text_ == o.text_;
    case kind::list: return array_ == o.array_;
    case kind::members: return object_ == o.object_;
  }
  return true;
}

ZARRPOINT_INLINE const bool* json::if_bool() const noexcept {
  return kind_ == kind::boolean ? &bool_ : nullptr;
}
ZARRPOINT_INLINE const double* json::if_double() const noexcept {
  return kind_ == kind::number ? &double_ : nullptr;
}
ZARRPOINT_INLINE const std::string* json::if_string() const noexcept {
  return kind_ == kind::text ? &text_ : nullptr;
}
ZARRPOINT_INLINE std::string* json::if_string() noexcept {
  return kind_ == kind::text ? &text_ : nullptr;
}
ZARRPOINT_INLINE const json::array* json::if_array() const noexcept {
  return kind_ == kind::list ? &array_ : nullptr;
}
ZARRPOINT_INLINE json::array* json::if_array() noexcept {
  return kind_ == kind::list ? &array_ : nullptr;
}
ZARRPOINT_INLINE const json::object* json::if_object() const noexcept {
  return kind_ == kind::members ? &object_ : nullptr;
}
ZARRPOINT_INLINE json::object* json::if_object() noexcept {
  return kind_ == kind::members ? &object_ : nullptr;
}

ZARRPOINT_INLINE const json* json::find(std::string_view key) const noexcept {
  if (const object* members = if_object()) {
    for (const member& m : *members) {
      if (m.key == key) return &m.value;
    }
  }
  return nullptr;
}
ZARRPOINT_INLINE json* json::find(std::string_view key) noexcept {
  return const_cast<json*>(std::as_const(*this).find(key));
}
ZARRPOINT_INLINE const std::string* json::find_string(std::string_view key) const noexcept {
  const json* const member = find(key);
  return member == nullptr ? nullptr : member->if_string();
}
ZARRPOINT_INLINE const json::array* json::find_array(std::string_view key) const noexcept {
  const json* const member = find(key);
  return member == nullptr ? nullptr : member->if_array();
}
ZARRPOINT_INLINE const json::object* json::find_object(std::string_view key) const noexcept {
  const json* const member = find(key);
  return member == nullptr ? nullptr : member->if_object();
}
ZARRPOINT_INLINE void json::set(std::string key, json value) {
  if (json* existing = find(key)) {
    *existing = std::move(value);
    return;
  }
  if (is_null()) *this = object{};
  if (object* members = if_object()) members->push_back({std::move(key), std::move(value)});
}

ZARRPOINT_INLINE bool json::is_null() const noexcept { return kind_ == kind::null; }
ZARRPOINT_INLINE bool json::is_number() const noexcept {
  return is_integer() || kind_ == kind::number;
}
ZARRPOINT_INLINE bool json::is_integer() const noexcept {
  return kind_ == kind::int64 || kind_ == kind::uint64;
}
ZARRPOINT_INLINE std::optional<std::int64_t> json::to_int64() const noexcept {
  if (kind_ == kind::int64) return int64_;
  return std::nullopt;
}
ZARRPOINT_INLINE std::optional<std::uint64_t> json::to_uint64() const noexcept {
  if (kind_ == kind::uint64) return uint64_;
  if (kind_ == kind::int64 && int64_ >= 0) return static_cast<std::uint64_t>(int64_);
  return std::nullopt;
}
ZARRPOINT_INLINE std::optional<double> json::to_double() const noexcept {
  if (kind_ == kind::number) return double_;
  if (kind_ == kind::int64) return static_cast<double>(int64_);
  if (kind_ == kind::uint64) return static_cast<double>(uint64_);
  return std::nullopt;
}

// --------------------------------------------------------------------------------------- error.hpp

ZARRPOINT_INLINE error& error::at(std::string_view context) & {
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    std::string text;
    text.reserve(context.size() + 2 + message.size());
    text.append(context).append(": ").append(message);
    message = static_cast<std::string&&>(text);
#if ZARRPOINT_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    // The error without its context is worth more than none.
  }
#endif
  return *this;
}

ZARRPOINT_INLINE error&& error::at(std::string_view context) && {
  at(context);
  return static_cast<error&&>(*this);
}

ZARRPOINT_INLINE std::string to_string(const error& failure) {
  std::string text(to_string(failure.code));
  return text.append(": ").append(failure.message);
}

namespace detail {

ZARRPOINT_INLINE error* failure_box::keep(error& failure) noexcept {
  const errc code = failure.code;
  error* const made = new (std::nothrow) error(std::move(failure));
  return made != nullptr ? made : mark(code, no_memory);
}

ZARRPOINT_INLINE error* failure_box::copy(const error& failure) noexcept {
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    error copied = failure;
    return keep(copied);
#if ZARRPOINT_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return mark(failure.code, no_memory);
  }
#endif
}

ZARRPOINT_INLINE void failure_box::drop(error* failure) noexcept { delete failure; }

ZARRPOINT_INLINE const error& failure_box::told(const error* marked) noexcept {
  struct list {
    error of[4 * codes];
  };
  static const list all = [] {
    list out;
    for (std::uintptr_t i = 0; i < 4 * codes; ++i) {
      out.of[i].code = static_cast<errc>(i / 4);
      if (i % 4 == no_memory) out.of[i].message = "no memory";  // the text itself needs none
    }
    return out;
  }();
  return all.of[reinterpret_cast<std::uintptr_t>(marked)];
}

ZARRPOINT_INLINE error failure_box::take() noexcept {
  if (owns()) return std::move(*at_);
  return told(at_);
}

ZARRPOINT_INLINE void failure_box::at(std::string_view context) noexcept {
  if (owns()) at_->at(context);
}

}  // namespace detail

// ----------------------------------------------------------------------------------------- box.hpp

ZARRPOINT_INLINE bool box::empty() const noexcept {
  return std::any_of(shape.begin(), shape.end(), [](index_t n) { return n <= 0; });
}

ZARRPOINT_INLINE std::string to_string(const box& part) {
  std::string text = "[";
  for (std::size_t i = 0; i < part.rank(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(part.offset[i]) + ":";
    // Of hostile metadata the end may lie beyond what an index can say.
    index_t end = 0;
    if (__builtin_add_overflow(part.offset[i], part.shape[i], &end))
      text += std::to_string(static_cast<std::uint64_t>(part.offset[i]) +
                             static_cast<std::uint64_t>(part.shape[i]));
    else
      text += std::to_string(end);
  }
  return text += ']';
}

ZARRPOINT_INLINE result<void> selection::check(const dims& bounds) const {
  if (rank() != bounds.rank() || offset.rank() != rank() || step.rank() != rank())
    return error{errc::invalid_argument, "the selection has rank " + std::to_string(rank()) +
                                             ", the array has shape " + to_string(bounds)};
  for (std::size_t i = 0; i < rank(); ++i) {
    if (step[i] < 1 || shape[i] < 0 || offset[i] < 0)
      return error{errc::invalid_argument,
                   "a selection needs offsets and counts of 0 or more, steps of 1 or more"};
    index_t last = 0;
    if (shape[i] == 0) {
      if (offset[i] > bounds[i]) return outside(bounds);
    } else if (__builtin_mul_overflow(shape[i] - 1, step[i], &last) ||
               __builtin_add_overflow(last, offset[i], &last) || last >= bounds[i]) {
      return outside(bounds);
    }
  }
  return {};
}

ZARRPOINT_INLINE error selection::outside(const dims& bounds) const {
  return {errc::out_of_range, "the selection (offset " + to_string(offset) + ", shape " +
                                  to_string(shape) + ", step " + to_string(step) +
                                  ") reaches beyond the array of shape " + to_string(bounds)};
}

ZARRPOINT_INLINE std::string to_string(const dims& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.rank(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text += ']';
}

ZARRPOINT_INLINE result<index_t> element_count(const dims& shape) {
  index_t count = 1;
  bool has_zero = false;
  bool overflow = false;
  for (const index_t extent : shape) {
    if (extent < 0)
      return error{errc::out_of_range, "negative extent in shape " + to_string(shape)};
    has_zero = has_zero || extent == 0;
    overflow = __builtin_mul_overflow(count, extent, &count) || overflow;
  }
  if (has_zero) return index_t{0};
  if (overflow)
    return error{errc::out_of_range, "shape " + to_string(shape) + " has 2^63 elements or more"};
  return count;
}

ZARRPOINT_INLINE result<std::size_t> byte_count(const dims& shape, std::size_t element_size) {
  ZARRPOINT_TRY(count, element_count(shape));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), element_size, &bytes) ||
      bytes > static_cast<std::size_t>(PTRDIFF_MAX))
    return error{errc::out_of_range, "shape " + to_string(shape) + " does not fit in memory"};
  return bytes;
}

ZARRPOINT_INLINE dims row_major_strides(const dims& shape, std::size_t element_size) {
  dims strides(shape.rank(), 0);
  // Unsigned, since the extents beside a 0 may be as large as a file likes to say; nothing is ever
  // addressed then.
  std::uint64_t stride = element_size;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = static_cast<index_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<index_t>(shape[i], 1));
  }
  return strides;
}

namespace detail {

// ---------------------------------------------------------------------------------------- utf8.hpp

ZARRPOINT_INLINE bool append_code_point(std::string& text, char32_t code_point) {
  const auto put = [&](unsigned byte) {
    text += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    if (code_point >= 0xd800 && code_point < 0xe000) return false;
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    if (code_point > 0x10ffff) return false;
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
  return true;
}

// ----------------------------------------------------------------------------------- printable.hpp

ZARRPOINT_INLINE std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (out.size() + length > max_bytes) return out += "...";
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0 || c < 0x20 || c == 0x7f) {
      out += '?';
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

ZARRPOINT_INLINE std::string in_quotes(std::string_view name) {
  return '"' + printable(name, 80) + '"';
}

// ---------------------------------------------------------------------------------------- sort.hpp

ZARRPOINT_INLINE void sort_numbers(std::span<numbered_place> list) {
  std::sort(list.data(), list.data() + list.size(),
            [](const numbered_place& a, const numbered_place& b) {
              return a.number != b.number ? a.number < b.number : a.place < b.place;
            });
}

ZARRPOINT_INLINE void sort_texts(std::vector<named_place>& list) {
  std::sort(list.begin(), list.end(), [](const named_place& a, const named_place& b) {
    const int order = a.text.compare(b.text);
    return order != 0 ? order < 0 : a.place < b.place;
  });
}

ZARRPOINT_INLINE void sort_names(std::vector<std::string>& list) {
  sort_by_text(list, [](const std::string& one) -> std::string_view { return one; });
}

ZARRPOINT_INLINE void sort_names(std::vector<std::string_view>& list) {
  sort_by_text(list, [](std::string_view one) { return one; });
}

ZARRPOINT_INLINE const named_place* find_twice(std::vector<named_place>& list) {
  // A slot holds a place plus one, and zero is free. A text lies where its hash says, or behind.
  std::size_t size = 1;
  while (size < 2 * list.size()) size *= 2;
  std::vector<std::size_t> slots(size);
  std::size_t steps = 8 * list.size();
  for (std::size_t place = 0; place < list.size() && steps != 0;) {
    const named_place& one = list[place++];
    std::size_t at = 0;
    for (const char c : one.text)
      at = (at ^ static_cast<unsigned char>(c)) * static_cast<std::size_t>(0x100000001b3U);
    for (at ^= at >> (sizeof(at) * 4); slots[at &= size - 1] != 0 && steps != 0; ++at, --steps)
      if (list[slots[at] - 1].text == one.text) return &one;
    slots[at] = place;
  }
  if (steps != 0) return nullptr;
  // Too many hashes are alike, as if somebody made them so.
  sort_texts(list);
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].text == list[i - 1].text) return &list[i];
  return nullptr;
}

ZARRPOINT_INLINE std::vector<std::size_t> sorted_places(std::size_t count, place_order before) {
  std::vector<std::size_t> from(count), to(count);
  for (std::size_t i = 0; i < count; ++i) from[i] = i;
  // Runs of `width` are sorted; each pass merges two and two of them.
  for (std::size_t width = 1; width < count; width += width) {
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t middle = count - begin > width ? begin + width : count;
      const std::size_t end = count - middle > width ? middle + width : count;
      std::size_t left = begin, right = middle;
      // Most lists are nearly in order.
      if (right < end && !before(from[right], from[right - 1])) right = end;
      for (std::size_t at = begin; at < end; ++at) {
        const bool is_right = right < end && (left == middle || before(from[right], from[left]));
        to[at] = from[is_right ? right++ : left++];
      }
      begin = end;
    }
    from.swap(to);
  }
  return from;
}

// -------------------------------------------------------------------------------------- base64.hpp

inline constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a character stands for; 64 for those that stand for nothing.
inline constexpr std::array<std::uint8_t, 256> base64_values = [] {
  std::array<std::uint8_t, 256> out{};
  out.fill(64);
  for (std::size_t i = 0; i < 64; ++i)
    out[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::uint8_t>(i);
  return out;
}();

ZARRPOINT_INLINE void base64_encode(bytes_view from, char* to) noexcept {
  for (std::size_t i = 0; i < from.size(); i += 3) {
    const std::size_t left = from.size() - i;
    std::uint32_t group = std::to_integer<std::uint32_t>(from[i]) << 16;
    if (left > 1) group |= std::to_integer<std::uint32_t>(from[i + 1]) << 8;
    if (left > 2) group |= std::to_integer<std::uint32_t>(from[i + 2]);
    *to++ = detail::base64_digits[group >> 18];
    *to++ = detail::base64_digits[group >> 12 & 63];
    *to++ = left > 1 ? detail::base64_digits[group >> 6 & 63] : '=';
    *to++ = left > 2 ? detail::base64_digits[group & 63] : '=';
  }
}

ZARRPOINT_INLINE bool base64_decode(std::string_view text, std::byte* to) noexcept {
  const std::optional<std::size_t> size = base64_decoded_size(text);
  if (!size) return false;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t digits = std::min<std::size_t>(4, *size - done + 1);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::uint8_t value = detail::base64_values[static_cast<unsigned char>(text[i + j])];
      if (value == 64 && (j < digits || text[i + j] != '=')) return false;
      group = group << 6 | (value & 63U);
    }
    for (std::size_t j = 0; j + 1 < digits; ++j)
      to[done++] = static_cast<std::byte>(group >> (16 - 8 * j) & 255);
  }
  return true;
}

ZARRPOINT_INLINE std::string to_base64(bytes_view from) {
  std::string out(base64_size(from.size()), '\0');
  base64_encode(from, out.data());
  return out;
}

ZARRPOINT_INLINE std::optional<std::string> from_base64(std::string_view text) {
  const std::optional<std::size_t> size = base64_decoded_size(text);
  if (!size) return std::nullopt;
  std::string out(*size, '\0');
  if (!base64_decode(text, reinterpret_cast<std::byte*>(out.data()))) return std::nullopt;
  return out;
}

}  // namespace detail

}}  // namespace zarrpoint::v0
