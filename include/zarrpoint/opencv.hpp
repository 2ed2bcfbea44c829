// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of cv::Mat and cv::Mat_; no header of OpenCV is included.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/tensors/opencv.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/base/bodies.hpp>
#endif
