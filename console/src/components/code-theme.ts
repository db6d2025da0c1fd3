import type { TagStyle } from '@codemirror/language';
import { tags } from '@lezer/highlight';

/** Colours come from the tokens of the page, which reach into shadow roots, so both themes work. */
export const codeTheme = {
  '&': { height: '100%', fontSize: '12px', color: 'var(--ink)', backgroundColor: 'var(--surface)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono, ui-monospace, monospace)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--faint)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 30%, transparent)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--ink)', border: '1px solid var(--line)' },
  // What a comparison marks.
  '.cm-deletedChunk, .cm-deletedLine': {
    backgroundColor: 'color-mix(in srgb, var(--danger-soft) 50%, var(--surface)) !important',
  },
  '.cm-deletedText': { background: 'transparent !important', textDecoration: 'line-through' },
  '.cm-changedLine, .cm-insertedLine': {
    backgroundColor: 'color-mix(in srgb, var(--ok-soft) 50%, var(--surface)) !important',
  },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-soft) !important' },
} as const;

export const codeHighlights: readonly TagStyle[] = [
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--info)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
  { tag: tags.invalid, color: 'var(--danger)' },
];
