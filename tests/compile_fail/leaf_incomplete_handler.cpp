// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type cannot be saved
#include <zarrpoint/handler/leaf.hpp>

struct scale {
  float value = 1;
  struct zarrpoint_handler {
    static constexpr std::string_view typestr = "scale";
    using space = zarrpoint::host_space;
    static zarrpoint::tensor_spec spec(const scale&) {
      return {zarrpoint::dtype_kind::float32, {}};
    }
#if defined(ZP_OK)
    static zarrpoint::host_view view(const scale& of) {
      return zarrpoint::dense_view(reinterpret_cast<const std::byte*>(&of.value), spec(of));
    }
#endif
  };
};

void test() { zarrpoint::leaf("s", scale{}); }
