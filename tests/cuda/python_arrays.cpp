// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Compiled only, by cuda/run.sh: an extension module's arrays of CUDA need these two headers.

#include <zarrpoint/cuda_array_interface.hpp>
#include <zarrpoint/interop/dlpack/cuda_array_interface.hpp>
//
#include <zarrpoint/interop/dlpack/dlpack_cuda.hpp>

using zarrpoint::cuda::device_space;
namespace dl = zarrpoint::dlpack;

PyObject* give_back(PyObject* array);

PyObject* give_back(PyObject* array) {
  auto taken = dl::from_cuda_array_interface(array, device_space(0));
  if (!taken) return dl::set_python_error(taken.failure());
  const auto made = dl::to_cuda_array_interface(*taken);
  return made ? *made : dl::set_python_error(made.failure());
}
