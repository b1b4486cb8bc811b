import simharness as sh
class Shop(sh.Product):
    name = "shop"
class NoName(sh.Product): pass
