// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A libcuda of one function, which the fake runtime loads and answers for.

extern "C" {

/// Whether it can be told; `active`: whether the device has a context.
bool (*fake_driver_asks)(int device, bool* active) = nullptr;

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  bool is_active = false;
  if (!fake_driver_asks(device, &is_active)) return 1;
  *flags = 0;
  *active = is_active ? 1 : 0;
  return 0;
}

}  // extern "C"
