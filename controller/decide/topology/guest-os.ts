/**
 * vSphere's guest identifiers and the short names that the CPI made of them (its `GuestOSLookup`). Instance types of
 * existing Nodes hold these names, so the list is as it is, gaps included: newer systems have no name there.
 */

/** `<name>Guest` and `<name>_64Guest`. */
const BOTH_WIDTHS = [
  ...['asianux3', 'asianux4', 'centos6', 'centos7', 'oracleLinux6', 'oracleLinux7', 'solaris10'],
  ...['debian4', 'debian5', 'debian6', 'debian7', 'debian8', 'debian9', 'debian10'],
  ...['rhel3', 'rhel4', 'rhel5', 'rhel6', 'rhel7', 'sles10', 'sles11', 'sles12'],
]

/** `<name>Guest` and `<name>64Guest`. */
const JOINED = ['darwin', 'fedora', 'freebsd', 'mandriva', 'opensuse', 'oracleLinux', 'suse', 'ubuntu']

/** `<name>_64Guest` alone. */
const WIDE = ['asianux5', 'asianux7', 'rhel8', 'rhel9', 'rhel10', 'solaris11']

/** `<name>Guest` alone. `centos64` and `sles64` are names here, not widths. */
const PLAIN = [
  ...['centos', 'centos64', 'dos', 'eComStation', 'eComStation2', 'mandrake', 'nld9', 'oes', 'os2', 'other'],
  ...['netware4', 'netware5', 'netware6', 'openServer5', 'openServer6', 'rhel2', 'sjds', 'sles', 'sles64'],
  ...['solaris6', 'solaris7', 'solaris8', 'solaris9'],
  ...['vmkernel', 'vmkernel5', 'vmkernel6', 'vmkernel65', 'win31', 'win95', 'win98'],
]

/** The identifier without `Guest`; the name is its lower case, less a trailing `64`. */
const LOWERED = [
  ...['turboLinux', 'turboLinux64', 'unixWare7', 'windowsHyperV', 'winMe', 'winNT', 'winXPHome'],
  ...['win2000AdvServ', 'win2000Pro', 'win2000Serv', 'winNetBusiness', 'winNetWeb'],
  ...['winLonghorn', 'winLonghorn64', 'winVista', 'winVista64', 'winXPPro', 'winXPPro64'],
  ...['winNetDatacenter', 'winNetDatacenter64', 'winNetEnterprise', 'winNetEnterprise64'],
  ...['winNetStandard', 'winNetStandard64'],
]

/** Names that follow no rule, with the identifiers less their `Guest`. */
const OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  coreos: ['coreos64'],
  darwin: [
    ...['darwin10', 'darwin10_64', 'darwin11', 'darwin11_64'],
    ...['darwin12_64', 'darwin13_64', 'darwin14_64', 'darwin15_64', 'darwin16_64'],
  ],
  linux: [
    ...['genericLinux', 'otherLinux', 'otherLinux64', 'other24xLinux', 'other24xLinux64'],
    ...['other26xLinux', 'other26xLinux64', 'other3xLinux', 'other3xLinux64'],
  ],
  photon: ['vmwarePhoton64'],
  rhel: ['redhat'],
  win7: ['windows7', 'windows7_64'],
  win7server: ['windows7Server64'],
  win8: ['windows8', 'windows8_64'],
  win8server: ['windows8Server64'],
  win10: ['windows9', 'windows9_64'],
  win10server: ['windows9Server64'],
}

const NAMES: ReadonlyMap<string, string> = new Map([
  ...BOTH_WIDTHS.flatMap((name) => [pair(name, name), pair(`${name}_64`, name)]),
  ...JOINED.flatMap((name) => [pair(name, name), pair(`${name}64`, name)]),
  ...WIDE.map((name) => pair(`${name}_64`, name)),
  ...PLAIN.map((name) => pair(name, name)),
  ...LOWERED.map((stem) => pair(stem, stem.toLowerCase().replace(/64$/, ''))),
  ...Object.entries(OTHERWISE).flatMap(([name, stems]) => stems.map((stem) => pair(stem, name))),
  // The one identifier that does not end in `Guest`.
  ['otherGuest64', 'other'],
])

function pair(stem: string, name: string): readonly [string, string] {
  return [`${stem}Guest`, name]
}

/** The CPI's short name of a `guestOsIdentifier`, exact in case; `unknown` for one that it has no name for. */
export function guestOSName(guestID: string): string {
  return NAMES.get(guestID) ?? 'unknown'
}
