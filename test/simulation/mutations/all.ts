import { BRAKE_MUTATIONS } from './brake.ts'
import { CERTIFICATE_MUTATIONS } from './certificates.ts'
import { CONFIGURATION_MUTATIONS } from './configuration.ts'
import { EFFECT_MUTATIONS } from './effects.ts'
import { IDENTITY_MUTATIONS } from './identity.ts'
import { LABEL_MUTATIONS } from './labels.ts'
import { MACHINE_MUTATIONS } from './machines.ts'
import type { Mutation } from './mutation.ts'
import { NODE_MUTATIONS } from './nodes.ts'
import { PROOF_MUTATIONS } from './proofs.ts'
import { TAG_MUTATIONS } from './tags.ts'
import { VCENTER_MUTATIONS } from './vcenter.ts'

export const MUTATIONS: readonly Mutation[] = [
  ...PROOF_MUTATIONS,
  ...BRAKE_MUTATIONS,
  ...MACHINE_MUTATIONS,
  ...IDENTITY_MUTATIONS,
  ...NODE_MUTATIONS,
  ...LABEL_MUTATIONS,
  ...CERTIFICATE_MUTATIONS,
  ...EFFECT_MUTATIONS,
  ...CONFIGURATION_MUTATIONS,
  ...VCENTER_MUTATIONS,
  ...TAG_MUTATIONS,
]
