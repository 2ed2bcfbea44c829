# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# Target zarrpoint::cuda: the library, and the CUDA runtime for cuda.hpp. What is missing is said in
# `missing`; nothing here needs the language CUDA.
function(zarrpoint_add_cuda missing)
  set(${missing} "" PARENT_SCOPE)
  if(TARGET zarrpoint::cuda)
    return()
  endif()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  find_package(CUDAToolkit 12.0 QUIET)
  if(TARGET CUDA::cudart)
    add_library(zarrpoint::cuda INTERFACE IMPORTED GLOBAL)
    target_link_libraries(zarrpoint::cuda INTERFACE zarrpoint::zarrpoint CUDA::cudart
                                                    ${CMAKE_DL_LIBS})
  else()
    set(${missing} "a CUDA toolkit 12.0 or later (CUDAToolkit_ROOT says where)" PARENT_SCOPE)
  endif()
endfunction()
