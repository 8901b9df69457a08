# SPDX-License-Identifier: Apache-2.0
#
# The install rules, by component: library, development, tools, python.

# bert_infer.pc finds its prefix from its own place.
function(configure_pc libdir output)
  file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${libdir}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
  # Libs.private is what users of the static library must also link (pkg-config --static).
  get_filename_component(dnnl_directory ${DNNL_LIBRARY} DIRECTORY)
  if(dnnl_directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    set(dnnl_directory "")
  else()
    set(dnnl_directory "-L${dnnl_directory} ")
  endif()
  configure_file(bert_infer.pc.in ${output} @ONLY)
endfunction()

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/bert_infer-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)

# Once below the prefix that the build is configured for, and once more as Debian lays out its
# files, whose components begin with "debian-". Options go to each install().
function(install_parts kind libdir python_dir)
  set(targets bert_infer${kind})
  install(TARGETS bert_infer EXPORT ${targets} ${ARGN}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${kind}library
          LIBRARY DESTINATION ${libdir} COMPONENT ${kind}library
                  NAMELINK_COMPONENT ${kind}development
          ARCHIVE DESTINATION ${libdir} COMPONENT ${kind}development
          PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${kind}development)
  set(package_dir ${libdir}/cmake/bert_infer)
  install(EXPORT ${targets} NAMESPACE bert_infer:: FILE bert_infer-targets.cmake
          DESTINATION ${package_dir} COMPONENT ${kind}development ${ARGN})
  if(TARGET bert_infer_static)
    install(TARGETS bert_infer_static EXPORT ${targets}-static ${ARGN}
            ARCHIVE DESTINATION ${libdir} COMPONENT ${kind}development)
    install(EXPORT ${targets}-static NAMESPACE bert_infer:: FILE bert_infer-static-targets.cmake
            DESTINATION ${package_dir} COMPONENT ${kind}development ${ARGN})
  endif()
  set(configured ${PROJECT_BINARY_DIR}/package${kind})
  configure_file(bert_infer-config.cmake.in ${configured}/bert_infer-config.cmake @ONLY)
  configure_pc(${libdir} ${configured}/bert_infer.pc)
  install(FILES ${configured}/bert_infer-config.cmake
                ${PROJECT_BINARY_DIR}/bert_infer-config-version.cmake
          DESTINATION ${package_dir} COMPONENT ${kind}development ${ARGN})
  install(FILES ${configured}/bert_infer.pc DESTINATION ${libdir}/pkgconfig
          COMPONENT ${kind}development ${ARGN})

  install(TARGETS ${programs} EXPORT ${targets}-tools ${ARGN}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${kind}tools)
  install(EXPORT ${targets}-tools NAMESPACE bert_infer:: FILE bert_infer-tools-targets.cmake
          DESTINATION ${package_dir} COMPONENT ${kind}tools ${ARGN})
  if(EXISTS ${PROJECT_SOURCE_DIR}/models/demo/config.json)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/demo/
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bert-infer/demo COMPONENT ${kind}tools ${ARGN})
  endif()
  if(TARGET manuals)
    install(DIRECTORY ${manuals}/share/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}
            COMPONENT ${kind}tools ${ARGN})
    install(DIRECTORY ${manuals}/share/bash-completion ${manuals}/share/zsh
            DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT ${kind}tools ${ARGN})
  endif()

  if(BERT_INFER_PYTHON)
    install(TARGETS bert_infer_python ${ARGN}
            LIBRARY DESTINATION ${python_dir}/bert_infer COMPONENT ${kind}python)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/python/bert_infer DESTINATION ${python_dir}
            COMPONENT ${kind}python ${ARGN} PATTERN __pycache__ EXCLUDE)
  endif()
endfunction()
