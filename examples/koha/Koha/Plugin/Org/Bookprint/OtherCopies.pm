package Koha::Plugin::Org::Bookprint::OtherCopies;

# A tab "Other copies" on the staff page of a record: the books of its cluster, by their texts.
# A book in Bookprint belongs to a record here if its external_id is the prefix and the biblionumber.

use strict;
use warnings;
use utf8;

use base qw(Koha::Plugins::Base);

use C4::Context;
use HTTP::Tiny;
use JSON::PP qw(decode_json);
use Koha::Plugins::Tab;

our $VERSION = '1.0.0';

our $metadata = {
    name            => 'Other copies',
    author          => 'Bookprint',
    date_authored   => '2026-11-23',
    date_updated    => '2026-11-23',
    minimum_version => '21.05.00.000',
    maximum_version => undef,
    version         => $VERSION,
    description     => 'Shows which other records are copies of the same text, as Bookprint knows them.',
    namespace       => 'bookprint',
};

my $SECONDS = 2;    # that the page may wait for Bookprint
my $MOST    = 50;   # copies that the tab lists

sub new {
    my ( $class, $args ) = @_;
    $args->{metadata} = $metadata;
    $args->{metadata}->{class} = $class;
    return $class->SUPER::new($args);
}

sub install   { return 1 }
sub upgrade   { return 1 }
sub uninstall { return 1 }

sub intranet_catalog_biblio_tab {
    my ( $self, $params ) = @_;
    my $biblio       = $params->{biblio};
    my $biblionumber = $biblio ? $biblio->biblionumber : scalar $self->{cgi}->param('biblionumber');
    my $book         = $biblionumber && $self->_book($biblionumber);
    return unless $book;
    my $cluster = $self->_get("$book->{links}->{self}/cluster?limit=$MOST");
    return unless $cluster && $cluster->{size} > 1;
    return Koha::Plugins::Tab->new(
        {
            title   => 'Other copies (' . ( $cluster->{size} - 1 ) . ')',
            content => $self->_table( $cluster, $book->{id} ),
        }
    );
}

sub _book {
    my ( $self, $biblionumber ) = @_;
    my $query = HTTP::Tiny->new->www_form_urlencode( { external_id => _prefix() . $biblionumber } );
    my $books = $self->_get("/v1/books?$query");
    return $books && $books->{items}->[0];
}

# The answer to a request; nothing where Bookprint is down or knows nothing of it.
sub _get {
    my ( $self, $path ) = @_;
    my $url      = C4::Context->config('bookprint_url') || 'http://localhost:8000';
    my $key      = C4::Context->config('bookprint_key');
    my $headers  = $key ? { Authorization => "Bearer $key" } : {};
    my $answer   = HTTP::Tiny->new( timeout => $SECONDS )->get( $url . $path, { headers => $headers } );
    return $answer->{success} ? decode_json( $answer->{content} ) : undef;
}

sub _table {
    my ( $self, $cluster, $own_id ) = @_;
    my $best = $cluster->{best_copy};
    my @rows = map { _row( $_, $best->{book_id} ) } grep { $_->{book_id} ne $own_id } @{ $cluster->{items} };
    my $note = $best->{book_id} eq $own_id ? 'This is the best copy. ' : '';
    return
        '<p>' . _html( $note . $best->{because} ) . '</p><table><thead><tr>'
      . join( '', map { "<th>$_</th>" } 'Title', 'Volume', 'Year', 'Pages', 'Words', '' )
      . '</tr></thead><tbody>'
      . join( '', @rows )
      . '</tbody></table>';
}

sub _row {
    my ( $copy, $best ) = @_;
    my $title  = _html( $copy->{title} // 'Untitled' );
    my $prefix = quotemeta _prefix();
    if ( ( $copy->{external_id} // '' ) =~ /\A$prefix([0-9]+)\z/ ) {
        $title = qq{<a href="/cgi-bin/koha/catalogue/detail.pl?biblionumber=$1">$title</a>};
    }
    my @cells = map { _html( $copy->{$_} // '' ) } qw(volume year page_count word_count);
    return '<tr>'
      . join( '', map { "<td>$_</td>" } $title, @cells, $copy->{book_id} eq $best ? 'best copy' : '' )
      . '</tr>';
}

sub _prefix {
    return C4::Context->config('bookprint_prefix') // '';
}

sub _html {
    my ($text) = @_;
    my %entities = ( '&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', q{'} => '&#39;' );
    $text =~ s/([&<>"'])/$entities{$1}/g;
    return $text;
}

1;
