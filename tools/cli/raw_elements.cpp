// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "raw_elements.hpp"

#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace cli {

namespace {

zp::error bad_bool() { return {zp::errc::corrupt, "a bool is neither 0 nor 1"}; }

/// One element of numpy's U type: UTF-32, padded with zeros.
zp::result<void> read_text(const std::byte* from, const raw_elements& of, std::string& to) {
  to.clear();
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < of.text_length; ++i) {
    std::array<std::byte, 4> bytes{};
    std::memcpy(bytes.data(), from + 4 * i, 4);
    if (of.swapped) std::reverse(bytes.begin(), bytes.end());
    const auto c = zp::load_le<std::uint32_t>(bytes.data());
    if (c == 0) {
      ++zeros;
      continue;
    }
    to.append(zeros, '\0');  // zeros inside belong to the text, those at its end do not
    zeros = 0;
    if (!zp::detail::append_code_point(to, c))
      return zp::error{zp::errc::corrupt, "a string holds " + std::to_string(c) +
                                              ", which is not a Unicode character"};
  }
  return {};
}

/// One element, byte by byte.
zp::result<void> read_one(const std::byte* from, const raw_elements& of, std::byte* to) {
  if (of.spec.type.is_variable()) return read_text(from, of, *reinterpret_cast<std::string*>(to));
  const std::size_t size = of.spec.type.size();
  std::memcpy(to, from, size);
  if (!of.swapped) return {};
  const std::size_t unit = of.spec.type.scalar_size();
  for (std::size_t i = 0; i < size; i += unit) std::reverse(to + i, to + i + unit);
  return {};
}

bool is_aligned(const raw_elements& of) {
  const std::size_t unit = of.spec.type.scalar_size();
  return reinterpret_cast<std::uintptr_t>(of.data.data()) % unit == 0 &&
         std::all_of(of.strides.begin(), of.strides.end(), [&](zp::index_t stride) {
           return stride % static_cast<zp::index_t>(unit) == 0;
         });
}

}  // namespace

zp::result<void> check_bools(const zp::mutable_host_view& elements) {
  if (elements.type != zp::dtype_kind::bool_) return {};
  const auto count = static_cast<std::size_t>(element_count(elements.shape).value_or(0));
  const bool good = std::all_of(elements.data, elements.data + count,
                                [](std::byte b) { return b <= std::byte{1}; });
  if (!good) return bad_bool();
  return {};
}

zp::result<void> raw_elements::read(const zp::selection& part,
                                    const zp::mutable_host_view& into) const {
  ZARRPOINT_CHECK(part.check(spec.shape));
  const zp::index_t count = element_count(part.shape).value_or(0);
  if (count == 0) return {};
  if (!spec.type.is_variable() && !swapped && !packed && is_aligned(*this)) {
    copy_elements(
        into, subview(zp::host_view{data.data(), spec.type, spec.shape, strides, {}, {}}, part));
    return check_bools(into);
  }
  const auto element = static_cast<zp::index_t>(memory_size(spec.type));
  const auto bits = static_cast<unsigned>(spec.type.bits());
  zp::dims at(part.rank(), 0);
  for (zp::index_t i = 0; i < count; ++i) {
    zp::index_t offset = 0;
    for (std::size_t d = 0; d < part.rank(); ++d)
      offset += (part.offset[d] + at[d] * part.step[d]) * strides[d];
    if (packed) {
      into.data[i] =
          zp::safetensors::detail::packed_element(data, bits, static_cast<std::uint64_t>(offset));
    } else {
      ZARRPOINT_CHECK(read_one(data.data() + offset, *this, into.data + i * element));
    }
    for (std::size_t d = part.rank(); d-- > 0;) {
      if (++at[d] < part.shape[d]) break;
      at[d] = 0;
    }
  }
  return check_bools(into);
}

zp::result<std::optional<zp::host_view>> raw_elements::lend() const {
  using lent = std::optional<zp::host_view>;
  if (spec.type.is_variable() || swapped || packed || !is_aligned(*this)) return lent();
  if (spec.type == zp::dtype_kind::bool_ &&
      !std::all_of(data.begin(), data.end(), [](std::byte b) { return b <= std::byte{1}; }))
    return bad_bool();
  return lent(zp::host_view{data.data(), spec.type, spec.shape, strides, {}, {}});
}

zp::result<zp::mapping> bytes_of(const std::shared_ptr<const zp::blob>& file) {
  if (auto mapped = file->map(); mapped && mapped->bytes().size() == file->size())
    return *std::move(mapped);
  auto memory = std::make_shared<zp::buffer>();
  ZARRPOINT_TRY(made, zp::buffer::allocate(static_cast<std::size_t>(file->size())));
  ZARRPOINT_CHECK(file->read(0, made.bytes()));
  *memory = std::move(made);
  const zp::bytes_view bytes = std::as_const(*memory).bytes();
  return zp::mapping(bytes, std::move(memory));
}

}  // namespace cli
