// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What makes a type savable and loadable: type_handler, its concepts, the registry, and handlers of
// the usual types (docs/handlers.md).
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/handler/types/mdspan.hpp>
#include <zarrpoint/handler/types/tensor.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/bodies.hpp>
#endif
