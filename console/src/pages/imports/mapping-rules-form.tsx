import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { optionsOf } from './format-options.ts';
import { JsonText, parsedOrText } from './json-text.tsx';
import { MappingEditor } from './mapping-editor.tsx';
import { emptyRows, guessRows, isComplete, mappingOf, openMapping, rowsOfMapping } from './mapping-rules.ts';

interface MappingRulesFormProps {
  readonly columns: readonly string[];
  readonly options: unknown;
  readonly onChange: (mapping: unknown) => void;
}

/** The rules of the format "mapping"; a first guess until they are taken. */
export function MappingRulesForm({ columns, options, onChange }: MappingRulesFormProps) {
  const mapping = optionsOf(options)['mapping'] ?? JSON.stringify(openMapping);
  const isOpen = mapping === JSON.stringify(openMapping);
  const parsed = parsedOrText(mapping);
  const rows = isOpen ? guessRows(columns) : rowsOfMapping(parsed);
  const [asJson, setAsJson] = useState(false);
  if (rows === undefined || asJson) {
    return (
      <>
        <JsonText
          label="Rules as JSON"
          value={isOpen && rows !== undefined ? mappingOf(rows) : parsed}
          onChange={onChange}
        />
        {rows !== undefined && (
          <Button kind="quiet" className="self-start" onClick={() => setAsJson(false)}>
            Edit as rows
          </Button>
        )}
      </>
    );
  }
  return (
    <>
      <MappingEditor rows={rows ?? emptyRows} columns={columns} onChange={(next) => onChange(mappingOf(next))} />
      <div className="flex flex-wrap gap-2">
        {isOpen && (
          <Button kind="primary" disabled={!isComplete(rows)} onClick={() => onChange(mappingOf(rows))}>
            Take these rules
          </Button>
        )}
        <Button kind="quiet" onClick={() => setAsJson(true)}>
          Edit as JSON
        </Button>
      </div>
    </>
  );
}
