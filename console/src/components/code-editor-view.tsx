import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
  type TagStyle,
} from '@codemirror/language';
import { linter, lintGutter } from '@codemirror/lint';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import type { CodeEditorProps } from './code-editor.tsx';

/** Wraps CodeMirror. Inside a shadow root it uses constructed style sheets, which a strict content security policy allows. */
export function CodeEditorView({ value, ...props }: CodeEditorProps) {
  const hostRef = useRef<HTMLDivElement>(null);
  const viewRef = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const { label, language, readOnly = false, original } = props;
  const initial = useRef(value);
  initial.current = value;
  useEffect(() => {
    const host = hostRef.current;
    if (host === null) return undefined;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    const extensions = [
      ...basics(label, language, readOnly),
      original === undefined ? [] : unifiedMergeView({ original, mergeControls: false, gutter: true }),
      keymap.of([{ key: 'Mod-Enter', run: () => submit(latest.current) }, ...defaultKeymap, ...historyKeymap]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
      }),
    ];
    const view = new EditorView({
      state: EditorState.create({ doc: initial.current, extensions }),
      parent: root,
      root,
    });
    viewRef.current = view;
    return () => view.destroy();
  }, [label, language, readOnly, original]);
  useEffect(() => {
    const view = viewRef.current;
    const shown = view?.state.doc.toString();
    // Only changes from outside: the editor's own changes arrive here unchanged.
    if (view !== undefined && shown !== value)
      view.dispatch({ changes: { from: 0, to: shown?.length ?? 0, insert: value } });
  }, [value]);
  return <div ref={hostRef} className="h-full" />;
}

/**
 * Replaces a selection with typed text. The browser would copy the style of the old text as an inline style, which the content
 * security policy refuses.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data, isComposing }, view) => {
    const { selection, readOnly } = view.state;
    if (inputType !== 'insertText' || data === null || isComposing || readOnly || selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type' });
    return true;
  },
});

function submit({ onSubmit }: Pick<CodeEditorProps, 'onSubmit'>): boolean {
  onSubmit?.();
  return onSubmit !== undefined;
}

function basics(label: string, language: CodeEditorProps['language'], readOnly: boolean): Extension[] {
  return [
    lineNumbers(),
    history(),
    // Shows direction marks and control characters: code and events are untrusted.
    highlightSpecialChars(),
    bracketMatching(),
    indentOnInput(),
    highlightActiveLine(),
    typedOver,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorState.readOnly.of(readOnly),
    syntaxHighlighting(HighlightStyle.define(codeHighlights)),
    EditorView.theme(codeTheme),
    language === 'json' ? [json(), linter(jsonParseLinter()), lintGutter()] : javascript({ typescript: true }),
  ];
}

/** Colours are the page's custom properties, which are inherited by shadow roots, so both themes work. */
const codeTheme = {
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
  // Highlights of a comparison.
  '.cm-deletedChunk, .cm-deletedLine': {
    backgroundColor: 'color-mix(in srgb, var(--danger-soft) 50%, var(--surface)) !important',
  },
  '.cm-deletedText': { background: 'transparent !important', textDecoration: 'line-through' },
  '.cm-changedLine, .cm-insertedLine': {
    backgroundColor: 'color-mix(in srgb, var(--ok-soft) 50%, var(--surface)) !important',
  },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-soft) !important' },
} as const;

const codeHighlights: readonly TagStyle[] = [
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--info)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
  { tag: tags.invalid, color: 'var(--danger)' },
];
