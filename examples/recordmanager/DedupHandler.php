<?php

/**
 * Deduplication of RecordManager by the keys of Bookprint's clusters of copies.
 *
 * Records carry their key as Bookprint writes it: 024 7# $a KEY $q cluster $2 bookprint. Two records with one
 * key are copies of one text, and two with different keys are not, whatever their ISBNs say. The rules of
 * RecordManager decide where either record has no key.
 */

namespace RecordManager\Bookprint\Deduplication;

use RecordManager\Base\Deduplication\DedupHandler as BaseHandler;

class DedupHandler extends BaseHandler
{
    private const SOURCE = '(bookprint)';
    private const KEYS = '//*[local-name()="datafield"][@tag="024"]'
        . '[*[@code="2"]="bookprint"][*[@code="q"]="cluster"]/*[@code="a"]';

    /**
     * Add the key to those by which RecordManager looks for candidates.
     */
    public function updateDedupCandidateKeys(&$record, $metadataRecord)
    {
        $former = array_values((array)($record['id_keys'] ?? []));
        // The base class compares with its own keys alone.
        $record['id_keys'] = array_values(array_filter($former, fn ($key) => !str_starts_with($key, self::SOURCE)));
        $changed = parent::updateDedupCandidateKeys($record, $metadataRecord);
        $key = $this->keyOf($metadataRecord);
        if ($key !== '') {
            $record['id_keys'][] = self::SOURCE . $key;
        }
        return $changed || array_values((array)($record['id_keys'] ?? [])) !== $former;
    }

    protected function matchRecords($origDbRecord, $origRecord, $candidateDbRecord)
    {
        $key = $this->keyOf($origRecord);
        $candidateKey = $this->keyOf($this->createRecordFromDbRecord($candidateDbRecord));
        if ($key !== '' && $candidateKey !== '') {
            return $key === $candidateKey;
        }
        return parent::matchRecords($origDbRecord, $origRecord, $candidateDbRecord);
    }

    /**
     * The key in a record; empty where it has none.
     */
    private function keyOf($metadataRecord): string
    {
        $found = simplexml_load_string($metadataRecord->toXML())->xpath(self::KEYS);
        return $found ? trim((string)$found[0]) : '';
    }
}
