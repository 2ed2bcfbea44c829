// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of one process: save, open, load, load_into, view, load_all.
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#endif
