// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// GGUF files, in which llama.cpp and others keep models, to read.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/gguf/gguf_header.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/gguf/bodies.hpp>
#endif
