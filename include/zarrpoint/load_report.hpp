// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The report of a load: seconds, bytes, warnings, and each leaf.
#include <zarrpoint/checkpoint/load/load_report.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/report_bodies.hpp>
#endif
