// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// GGUF files, in which llama.cpp and others keep models, to read.
#include <zarrpoint/interop/gguf/gguf_header.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
