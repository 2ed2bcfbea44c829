// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files of torch.save, read without running anything in them, and written.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/file_bodies.hpp>
#endif
