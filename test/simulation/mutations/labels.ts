/** Labels by rule: where their values come from, and what is not known to be gone. */
import { edit, type Mutation } from './mutation.ts'

const LABELS = 'controller/loops/node/decide/labels'
const SOURCE = `${LABELS}/source-value.ts`
const RULES = `${LABELS}/judge-rules.ts`
const ATTRIBUTES = 'controller/vcenter/cache/vm-attributes.ts'

function without(name: string, file: string, text: string, becomes: string, ...about: string[]): Mutation {
  return { name: `labels by rule: ${name}`, about, edits: [edit(file, text, becomes)] }
}

export const LABEL_MUTATIONS: readonly Mutation[] = [
  without(
    'who has lost the right to read tags has not seen that there is none',
    SOURCE,
    'if (tag === undefined && lack !== undefined)',
    'if (lack === null)',
    'tags-hidden',
  ),
  without(
    'a tag that could not be read is not absent',
    SOURCE,
    'if (unread.length > 0)',
    'if (unread.length < 0)',
    'host-tags-denied',
  ),
  {
    name: 'labels by rule: an absence counts only after all was read twice',
    inSceneAlone: true,
    edits: [edit(RULES, 'reads - since >= READS', 'reads - since >= 0')],
  },
  without(
    'an attribute that could not be read is not absent',
    SOURCE,
    "return { state: 'unread', message: found.unread }",
    "return { state: 'absent' }",
    'attributes-hidden',
  ),
  without(
    'an attribute whose names may not be read is not absent',
    ATTRIBUTES,
    'if (!names.ok) return { unread: names.message }',
    'if (!names.ok) return { values: [] }',
    'attributes-hidden',
  ),
  without(
    'an attribute that is not defined is not absent',
    ATTRIBUTES,
    'if (keys.length === 0)',
    'if (keys.length < 0)',
    'attributes-hidden',
  ),
  without(
    'an attribute whose values may not be read is not absent',
    ATTRIBUTES,
    'if (unreadable.includes(CUSTOM_VALUES_PATH))',
    'if (unreadable.length < 0)',
    'attributes-hidden',
  ),
  {
    name: 'labels by rule: a place that could not be read is not absent',
    inSceneAlone: true,
    edits: [
      edit(SOURCE, "return isRead ? { state: 'absent' }", "return way.length >= 0 ? { state: 'absent' }"),
    ],
  },
  without(
    'one write follows a move',
    RULES,
    'if (vm.moving === true && !isNew)',
    'if (vm.moving === true && isNew)',
    'vm-moved',
  ),
  without(
    'a label for the initialization stays',
    RULES,
    "if (when === 'initialize' && !isNew)",
    "if (when === 'initialize' && isNew)",
    'vm-moved',
  ),
  without(
    'a value with an entry in the map is that',
    SOURCE,
    "if (mapped !== undefined) return { state: 'known', value: mapped }",
    '',
    'vm-moved',
  ),
  without(
    'what the map makes of something else is ambiguous',
    SOURCE,
    'if (others.length > 0)',
    'if (others.length < 0)',
    'vm-moved',
  ),
  without(
    'what is no label value is not written',
    SOURCE,
    "if (name !== '' && isLabelValue(name)) return found",
    'if (name !== undefined) return found',
    'attribute-changed',
  ),
  without(
    'what others wrote stays',
    RULES,
    'present === undefined ? isReachable : present === recorded',
    'present === undefined ? isReachable : true',
    'label-by-rule-changed',
  ),
]
