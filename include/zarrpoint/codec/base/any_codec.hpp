// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/make_owner.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// The erased forms of the three concepts, with the optional parts filled in.

struct erased_codec {
  virtual ~erased_codec() = default;
  virtual codec_kind kind() const = 0;
  virtual std::string_view name() const = 0;
  virtual json configuration() const = 0;
  virtual result<std::shared_ptr<const erased_codec>> resolve(const tensor_spec& spec) const = 0;
};

struct erased_array_codec : erased_codec {
  virtual tensor_spec encoded_spec(const tensor_spec& decoded) const = 0;
  virtual bool has_views() const = 0;
  /// Whether what it makes are the elements that it gets, which may then be strings.
  virtual bool moves_elements() const = 0;
  virtual host_view encode_view(const host_view& decoded) const = 0;
  virtual mutable_host_view decode_view(const mutable_host_view& into) const = 0;
  virtual std::optional<host_view> borrow(const host_view& decoded) const = 0;
  virtual std::optional<mutable_host_view> target(const mutable_host_view& into) const = 0;
  virtual result<void> encode(const host_view& from, const mutable_host_view& to,
                              codec_workspace& scratch) const = 0;
  virtual result<void> decode(const host_view& from, const mutable_host_view& to,
                              codec_workspace& scratch) const = 0;
  /// What the codec makes of an element of `decoded` that is everywhere the same.
  virtual result<std::vector<std::byte>> encode_fill(bytes_view fill,
                                                     const tensor_spec& decoded) const = 0;
};

struct erased_array_bytes_codec : erased_codec {
  virtual bool fixed_size() const = 0;
  virtual std::uint64_t encoded_bound(const tensor_spec& decoded) const = 0;
  virtual result<std::uint64_t> encoded_size(const host_view& from) const = 0;
  virtual bool is_raw(const tensor_spec& decoded) const = 0;
  virtual std::optional<bytes_view> borrow(const host_view& from) const = 0;
  virtual std::optional<mutable_bytes> target(const mutable_host_view& into) const = 0;
  virtual result<std::size_t> encode(const host_view& from, mutable_bytes to,
                                     codec_workspace& scratch) const = 0;
  virtual result<void> decode(bytes_view stored, const mutable_host_view& into,
                              codec_workspace& scratch) const = 0;
};

struct erased_bytes_codec : erased_codec {
  virtual bool fixed_size() const = 0;
  virtual bool in_place() const = 0;
  virtual std::uint64_t encoded_bound(std::uint64_t decoded) const = 0;
  virtual std::optional<std::uint64_t> decoded_size(bytes_view stored) const = 0;
  virtual result<std::size_t> encode(bytes_view from, mutable_bytes to,
                                     codec_workspace& scratch) const = 0;
  virtual result<std::size_t> decode(bytes_view from, mutable_bytes to,
                                     codec_workspace& scratch) const = 0;
  virtual result<std::size_t> encode_in_place(mutable_bytes buffer, std::size_t used) const = 0;
  virtual result<bytes_view> decode_in_place(bytes_view stored) const = 0;
};

/// Asked for an optional part that the codec does not have: the chain looks first.
error no_such_part();

/// What the three models below have in common.
template <class C, class Base>
struct codec_model : Base {
  explicit codec_model(C value) : self(std::move(value)) {}

  codec_kind kind() const final { return kind_of<C>(); }
  std::string_view name() const final { return C::name; }
  json configuration() const final { return configuration_of(self); }
  result<std::shared_ptr<const erased_codec>> resolve(const tensor_spec& spec) const final;

  C self;
};

template <class C>
struct array_codec_model final : codec_model<C, erased_array_codec> {
  using codec_model<C, erased_array_codec>::codec_model;

  tensor_spec encoded_spec(const tensor_spec& decoded) const override {
    return this->self.encoded_spec(decoded);
  }
  bool has_views() const override { return viewing_codec<C>; }
  bool moves_elements() const override {
    if constexpr (requires { C::moves_elements; }) return C::moves_elements;
    return viewing_codec<C>;
  }
  host_view encode_view(const host_view& decoded) const override {
    if constexpr (viewing_codec<C>) return this->self.encode_view(decoded);
    return decoded;
  }
  mutable_host_view decode_view(const mutable_host_view& into) const override {
    if constexpr (viewing_codec<C>) return this->self.decode_view(into);
    return into;
  }
  std::optional<host_view> borrow(const host_view& decoded) const override {
    if constexpr (requires { this->self.borrow(decoded); }) return this->self.borrow(decoded);
    return std::nullopt;
  }
  std::optional<mutable_host_view> target(const mutable_host_view& into) const override {
    if constexpr (requires { this->self.target(into); }) return this->self.target(into);
    return std::nullopt;
  }
  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const override {
    if constexpr (copying_codec<C>) return this->self.encode(from, to, scratch);
    return no_such_part();
  }
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const override {
    if constexpr (copying_codec<C>) return this->self.decode(from, to, scratch);
    return no_such_part();
  }
  result<std::vector<std::byte>> encode_fill(bytes_view fill,
                                             const tensor_spec& decoded) const override {
    if constexpr (requires { this->self.encode_fill(fill, decoded); }) {
      return this->self.encode_fill(fill, decoded);
    } else if constexpr (viewing_codec<C>) {
      return std::vector<std::byte>(fill.begin(), fill.end());
    } else {
      return encode_lone(fill, decoded);
    }
  }

 private:
  /// As the only element of an array of the same rank.
  result<std::vector<std::byte>> encode_lone(bytes_view fill, const tensor_spec& decoded) const {
    const tensor_spec lone{decoded.type, dims(decoded.shape.rank(), 1)};
    const tensor_spec encoded = encoded_spec(lone);
    ZARRPOINT_TRY(count, element_count(encoded.shape));
    if (count != 1 || fill.size() != decoded.type.size())
      return error{errc::unsupported, "the codec cannot be applied to the fill value"};
    std::vector<std::byte> out(encoded.type.size());
    codec_workspace scratch;
    ZARRPOINT_CHECK(
        encode(dense_view(fill.data(), lone), dense_view(out.data(), encoded), scratch));
    return out;
  }
};

template <class C>
struct array_bytes_codec_model final : codec_model<C, erased_array_bytes_codec> {
  using codec_model<C, erased_array_bytes_codec>::codec_model;

  bool fixed_size() const override { return C::fixed_size; }
  std::uint64_t encoded_bound(const tensor_spec& decoded) const override {
    return this->self.encoded_bound(decoded);
  }
  result<std::uint64_t> encoded_size(const host_view& from) const override {
    if constexpr (C::fixed_size) {
      return this->self.encoded_bound(from.spec());
    } else {
      return this->self.encoded_size(from);
    }
  }
  bool is_raw(const tensor_spec& decoded) const override {
    if constexpr (requires { this->self.is_raw(decoded); }) return this->self.is_raw(decoded);
    return false;
  }
  std::optional<bytes_view> borrow(const host_view& from) const override {
    if constexpr (requires { this->self.borrow(from); }) return this->self.borrow(from);
    return std::nullopt;
  }
  std::optional<mutable_bytes> target(const mutable_host_view& into) const override {
    if constexpr (requires { this->self.target(into); }) return this->self.target(into);
    return std::nullopt;
  }
  result<std::size_t> encode(const host_view& from, mutable_bytes to,
                             codec_workspace& scratch) const override {
    return this->self.encode(from, to, scratch);
  }
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const override {
    return this->self.decode(stored, into, scratch);
  }
};

template <class C>
struct bytes_codec_model final : codec_model<C, erased_bytes_codec> {
  using codec_model<C, erased_bytes_codec>::codec_model;

  bool fixed_size() const override { return C::fixed_size; }
  bool in_place() const override { return in_place_codec<C>; }
  std::uint64_t encoded_bound(std::uint64_t decoded) const override {
    return this->self.encoded_bound(decoded);
  }
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const override {
    if constexpr (requires { this->self.decoded_size(stored); })
      return this->self.decoded_size(stored);
    return std::nullopt;
  }
  result<std::size_t> encode(bytes_view from, mutable_bytes to,
                             codec_workspace& scratch) const override {
    if constexpr (out_of_place_codec<C>) return this->self.encode(from, to, scratch);
    return no_such_part();
  }
  result<std::size_t> decode(bytes_view from, mutable_bytes to,
                             codec_workspace& scratch) const override {
    if constexpr (out_of_place_codec<C>) return this->self.decode(from, to, scratch);
    return no_such_part();
  }
  result<std::size_t> encode_in_place(mutable_bytes buffer, std::size_t used) const override {
    if constexpr (in_place_codec<C>) return this->self.encode_in_place(buffer, used);
    return no_such_part();
  }
  result<bytes_view> decode_in_place(bytes_view stored) const override {
    if constexpr (in_place_codec<C>) return this->self.decode_in_place(stored);
    return no_such_part();
  }
};

template <class C>
std::shared_ptr<const erased_codec> erase_codec(C self) {
  if constexpr (kind_of<C>() == codec_kind::array_to_array) {
    return detail::make_counted<const array_codec_model<C>>(std::move(self));
  } else if constexpr (kind_of<C>() == codec_kind::array_to_bytes) {
    return detail::make_counted<const array_bytes_codec_model<C>>(std::move(self));
  } else {
    return detail::make_counted<const bytes_codec_model<C>>(std::move(self));
  }
}

template <class C, class Base>
result<std::shared_ptr<const erased_codec>> codec_model<C, Base>::resolve(
    const tensor_spec& spec) const {
  if constexpr (requires {
                  { self.resolve(spec) } -> std::same_as<result<C>>;
                }) {
    ZARRPOINT_TRY(bound, self.resolve(spec));
    return erase_codec<C>(std::move(bound));
  } else {
    return erase_codec<C>(self);
  }
}

}  // namespace detail

/// A codec of any type, by value: a shared handle to an immutable one.
class any_codec {
 public:
  // Itself is excluded first: whether it may be copied is not asked while that is being decided.
  template <class C>
    requires(!std::same_as<C, any_codec> && codec<C>)
  explicit any_codec(C self) : self_(detail::erase_codec(std::move(self))) {}

  codec_kind kind() const { return self_->kind(); }
  std::string_view name() const { return self_->name(); }
  /// The canonical form, as written to metadata.
  codec_spec spec() const { return {std::string(name()), self_->configuration(), true}; }

  /// The codec bound to the spec that it will encode, or why that makes no sense.
  result<any_codec> resolve(const tensor_spec& decoded) const;

  // For codec_chain: the codec as what it is, or null.
  const detail::erased_array_codec* if_array_to_array() const;
  const detail::erased_array_bytes_codec* if_array_to_bytes() const;
  const detail::erased_bytes_codec* if_bytes_to_bytes() const;

 private:
  explicit any_codec(std::shared_ptr<const detail::erased_codec> self) : self_(std::move(self)) {}

  template <class T>
  const T* as(codec_kind wanted) const {
    return kind() == wanted ? static_cast<const T*>(self_.get()) : nullptr;
  }

  std::shared_ptr<const detail::erased_codec> self_;
};

}}  // namespace zarrpoint::v0
