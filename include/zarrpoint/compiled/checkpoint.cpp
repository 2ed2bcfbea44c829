// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of checkpoints and handlers.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/checkpoint/bodies.hpp>
#include <zarrpoint/checkpoint/document/bodies.hpp>
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/checkpoint/load/report_bodies.hpp>
#include <zarrpoint/checkpoint/save/plan_bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#include <zarrpoint/checkpoint/save/sharing_bodies.hpp>
#include <zarrpoint/checkpoint/verify/document_bodies.hpp>
#include <zarrpoint/checkpoint/verify/verify_bodies.hpp>
#include <zarrpoint/handler/base/bodies.hpp>
#include <zarrpoint/handler/bodies.hpp>
#include <zarrpoint/handler/types/bodies.hpp>
