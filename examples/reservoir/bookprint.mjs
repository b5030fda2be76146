// Match keys for FOLIO Reservoir: the keys of the clusters of copies that a record carries.
// Bookprint writes them into its MARC records as 024 7# $a KEY $q cluster $2 bookprint.

/**
 * Reservoir calls this with a record of MARC-in-JSON inside {"marc": ...} and clusters by what it returns.
 * @param {string} record - The record as JSON.
 * @return {string[]} The keys, each once; none where the record has no key, so that it stays alone.
 */
export function matchkey(record) {
  const { fields = [] } = JSON.parse(record).marc;
  const keys = fields
    .map((field) => field['024'])
    .filter((field) => has(field, '2', 'bookprint') && has(field, 'q', 'cluster'))
    .flatMap((field) => field.subfields)
    .map((subfield) => subfield.a)
    .filter((key) => key !== undefined);
  return [...new Set(keys)];
}

function has(field, code, value) {
  return (field?.subfields ?? []).some((subfield) => subfield[code] === value);
}
