# SPDX-License-Identifier: Apache-2.0
#
# The copyright and the changelogs of a package, when it is put together. Their dates are those of
# SOURCE_DATE_EPOCH, so that a package is the same bytes whenever it is made.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(MAKE_DIRECTORY "${documents}")
configure_file("${source}/tools/package/debian/copyright" "${documents}/copyright" COPYONLY)
file(WRITE "${documents}/changelog.Debian"
     "bert-infer (${version}) unstable; urgency=medium\n\n"
     "  * Release ${version}: see changelog.gz.\n\n"
     " -- ${maintainer}  ${date}\n")
configure_file("${source}/CHANGELOG.md" "${documents}/changelog" COPYONLY)
foreach(file changelog.Debian changelog)
  execute_process(COMMAND gzip -9nf "${documents}/${file}" COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD "${documents}/${file}.gz" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
file(CHMOD "${documents}/copyright" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
