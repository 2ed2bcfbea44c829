// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>
#include <zarrpoint/codec/numcodecs/categorize.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<categorize_codec> categorize_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"labels", "dtype", "astype"}));
  auto made = detail::make_counted<state>();
  ZARRPOINT_TRY(type, reader.text("dtype"));
  if (type && *type != "|O" && *type != "O" && *type != "object")
    return error{errc::unsupported,
                 "categorize works on strings, not on " + detail::in_quotes(*type)};
  ZARRPOINT_TRY(stored, reader.text("astype"));
  if (stored) made->stored_text = *stored;
  ZARRPOINT_CHECK(made->read_type());
  const node* const labels = reader.find("labels");
  const node::array* const list = labels == nullptr ? nullptr : labels->if_array();
  if (list == nullptr) return error{errc::invalid_argument, "\"labels\" is not a list"};
  if (list->size() > made->most)
    return error{errc::invalid_argument, std::to_string(list->size()) +
                                             " labels are too many for " +
                                             detail::in_quotes(made->stored_text)};
  for (const node& label : *list) {
    const std::string* const text = label.if_string();
    if (text == nullptr) return error{errc::invalid_argument, "a label that is not a string"};
    made->labels.push_back(*text);
  }
  for (std::size_t i = 0; i < made->labels.size(); ++i) made->numbers[made->labels[i]] = i + 1;
  categorize_codec out;
  out.self_ = std::move(made);
  return out;
}

ZARRPOINT_INLINE node categorize_codec::configuration() const {
  node::array labels(self_->labels.begin(), self_->labels.end());
  return node::object{
      {"labels", std::move(labels)}, {"dtype", "|O"}, {"astype", self_->stored_text}};
}

ZARRPOINT_INLINE result<categorize_codec> categorize_codec::resolve(
    const tensor_spec& decoded) const {
  if (decoded.type == dtype_kind::string) return *this;
  return error{errc::invalid_argument,
               "elements of type " + std::string(to_string(decoded.type)) + " are not strings"};
}

ZARRPOINT_INLINE std::uint64_t categorize_codec::encoded_bound(const tensor_spec& decoded) const {
  const result<std::size_t> bytes = byte_count(decoded.shape, self_->size);
  return bytes ? *bytes : UINT64_MAX;
}

ZARRPOINT_INLINE result<std::size_t> categorize_codec::encode(const host_view& from,
                                                              mutable_bytes to,
                                                              codec_workspace&) const {
  std::size_t done = 0;
  ZARRPOINT_CHECK(detail::for_each_string<const std::string>(
      from, [&](const std::string& text) -> result<void> {
        if (to.size() - done < self_->size)
          return error{errc::out_of_range, "the output does not fit"};
        const auto found = self_->numbers.find(text);
        if (found == self_->numbers.end() && !text.empty())
          return error{errc::invalid_argument, detail::in_quotes(text) + " is not a label"};
        store(to.data() + done, found == self_->numbers.end() ? 0 : found->second);
        done += self_->size;
        return {};
      }));
  return done;
}

ZARRPOINT_INLINE result<void> categorize_codec::decode(bytes_view stored,
                                                       const mutable_host_view& into,
                                                       codec_workspace& scratch) const {
  const std::uint64_t expected = encoded_bound(into.spec());
  if (stored.size() != expected)
    return error{errc::corrupt, std::to_string(stored.size()) + " bytes where " +
                                    to_string(into.spec()) + " has " + std::to_string(expected)};
  return detail::for_each_string<std::string>(into, [&](std::string& text) -> result<void> {
    const std::uint64_t number = load(stored.data());
    stored = stored.subspan(self_->size);
    if (number > self_->labels.size())
      return error{errc::corrupt, "category " + std::to_string(number) + "; there are only " +
                                      std::to_string(self_->labels.size())};
    const std::string_view label =
        number == 0 ? std::string_view() : std::string_view(self_->labels[number - 1]);
    ZARRPOINT_CHECK(scratch.charge_text(label.size()));
    text = label;
    return {};
  });
}

ZARRPOINT_INLINE result<void> categorize_codec::state::read_type() {
  std::string_view rest = stored_text;
  is_big = rest.starts_with('>');
  dtype type;
  if (const auto named = parse_dtype(rest)) {
    type = *named;
  } else {
    if (is_big || rest.starts_with('<') || rest.starts_with('|')) rest.remove_prefix(1);
    for (const dtype_kind kind :
         {dtype_kind::int8, dtype_kind::int16, dtype_kind::int32, dtype_kind::int64,
          dtype_kind::uint8, dtype_kind::uint16, dtype_kind::uint32, dtype_kind::uint64}) {
      const dtype one(kind);
      const char digits[] = {one.is_signed_integer() ? 'i' : 'u',
                             static_cast<char>('0' + one.size())};
      if (rest == std::string_view(digits, 2)) type = one;
    }
  }
  if (!type.is_integer() || type.is_below_byte())
    return error{errc::unsupported,
                 "categories cannot be stored as " + detail::in_quotes(stored_text)};
  size = type.size();
  most = UINT64_MAX >> (64 - 8 * size + (type.is_signed_integer() ? 1 : 0));
  return {};
}

ZARRPOINT_INLINE std::uint64_t categorize_codec::load(const std::byte* from) const {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < self_->size; ++i) {
    const std::size_t at = self_->is_big ? i : self_->size - 1 - i;
    out = out << 8 | std::to_integer<std::uint64_t>(from[at]);
  }
  return out;
}

ZARRPOINT_INLINE void categorize_codec::store(std::byte* to, std::uint64_t number) const {
  for (std::size_t i = 0; i < self_->size; ++i, number >>= 8) {
    const std::size_t at = self_->is_big ? self_->size - 1 - i : i;
    to[at] = static_cast<std::byte>(number & 255);
  }
}

}}  // namespace zarrpoint::v0
