// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Types of elements beyond those of the language, and tensors: small integers and floats, complex
// numbers, records (docs/data_types.md).
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/complex.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/core/types/small_complex.hpp>
#include <zarrpoint/core/types/small_int.hpp>
#include <zarrpoint/core/types/visit.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/memory/bodies.hpp>
#endif
